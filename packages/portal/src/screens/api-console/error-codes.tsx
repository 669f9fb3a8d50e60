/** The list of error codes with meaning, outcome and advice. */
import type { ListedErrorCode } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { StateBadge, type Tone } from '../../components/values/state-badge.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { plainOptions, translatedOptions } from '../../filters/filter-options.ts';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { ConsoleTabs } from './console-tabs.tsx';
import { errorAdviceOf, matchesErrorFilters } from './error-advice.ts';
import './api-console.css';

const filterNames = ['text', 'outcome', 'status'] as const;
const tones: Readonly<Record<ListedErrorCode['outcome'], Tone>> = {
  NotProcessed: 'plain',
  Processed: 'good',
  Unknown: 'warn',
};

function useCodes() {
  return useQuery({
    queryKey: ['error-codes'],
    queryFn: ({ signal }) =>
      api.get<{ items: ListedErrorCode[] }>('/resources/v1/error-codes', { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export default function ErrorCodes() {
  const t = useTranslate('api-console');
  const { data, error, refetch } = useCodes();
  const [values, change] = useFilters(filterNames);
  const items = data?.items ?? [];
  const statuses = [...new Set(items.map(({ status }) => status))].toSorted((a, b) => a - b);
  const matching = items.filter((each) => matchesErrorFilters(each, values));
  return (
    <Page title={t('title')} lead={t('errorsLead')}>
      <ConsoleTabs />
      <FilterBar
        fields={[
          { kind: 'search', name: 'text', label: t('searchErrors') },
          {
            kind: 'choice',
            name: 'status',
            label: t('httpStatus'),
            options: plainOptions(statuses.map(String)),
          },
          {
            kind: 'choice',
            name: 'outcome',
            label: t('outcome'),
            options: translatedOptions(t, 'outcomes', Object.keys(tones)),
          },
        ]}
        values={values}
        onChange={change}
      />
      {error !== null && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Loading lines={14} />}
      {data !== undefined && matching.length === 0 && (
        <EmptyState icon="search" title={t('none.code')}>
          {t('none.text')}
        </EmptyState>
      )}
      {[...Map.groupBy(matching, ({ status }) => status)].map(([status, codes]) => (
        <Panel key={status} title={`HTTP ${status}`} flush>
          <ul className="sy-ref-codes">
            {codes.map((each) => (
              <Code key={each.code} errorCode={each} />
            ))}
          </ul>
        </Panel>
      ))}
    </Page>
  );
}

function Code({ errorCode }: { readonly errorCode: ListedErrorCode }) {
  const t = useTranslate('api-console');
  const { code, title, help, outcome, retryable } = errorCode;
  return (
    <li>
      <div className="sy-ref-code-head">
        <code className="sy-broken">{code}</code>
        <StateBadge state="" tone={tones[outcome]}>
          {t(`outcomes.${outcome}`)}
        </StateBadge>
        {retryable && <span className="sy-ref-hint">{t('retryable')}</span>}
      </div>
      <p className="sy-ref-code-title">{title}</p>
      <p>{help}</p>
      <p className="sy-ref-hint">{t(`advice.${errorAdviceOf(errorCode)}`)}</p>
    </li>
  );
}
