/** The list of API operations by topic. */
import { Link } from '@tanstack/react-router';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { ConsoleTabs } from './console-tabs.tsx';
import { MethodBadge } from './method-badge.tsx';
import { hasPermissionFor, matchesSearchText, type Operation } from './parse-openapi.ts';
import { useOpenApi } from './use-openapi.ts';
import './api-console.css';

const filterNames = ['text', 'tag', 'rights'] as const;

export default function OperationListPage() {
  const t = useTranslate('api-console');
  const { data, error, refetch } = useOpenApi();
  const { permissions } = useSession();
  const [values, change] = useFilters(filterNames);
  const { text = '', tag, rights } = values;
  const operations = data?.operations ?? [];
  const tags = [...new Set(operations.map((each) => each.tag))];
  const matching = operations.filter(
    (each) =>
      (tag === undefined || each.tag === tag) &&
      (rights !== 'mine' || hasPermissionFor(each, permissions)) &&
      (text === '' || matchesSearchText(each, text)),
  );
  return (
    <Page title={t('title')} lead={t('lead')} actions={<Documents />}>
      <ConsoleTabs at="operations" />
      <FilterBar
        fields={[
          { kind: 'search', name: 'text', label: t('search') },
          {
            kind: 'choice',
            name: 'tag',
            label: t('tag'),
            options: tags.map((value) => ({ value, label: value })),
          },
          {
            kind: 'choice',
            name: 'rights',
            label: t('rights'),
            options: [{ value: 'mine', label: t('mine') }],
          },
        ]}
        values={values}
        onChange={change}
      />
      {error !== null && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Loading lines={14} />}
      {data !== undefined && matching.length === 0 && (
        <EmptyState icon="search" title={t('none.title')}>
          {t('none.text')}
        </EmptyState>
      )}
      {[...Map.groupBy(matching, (each) => each.tag)].map(([name, members]) => (
        <Panel key={name} title={name} flush>
          <Operations operations={members} />
        </Panel>
      ))}
    </Page>
  );
}

function Operations({ operations }: { readonly operations: readonly Operation[] }) {
  const t = useTranslate('api-console');
  const { permissions } = useSession();
  return (
    <ul className="sy-ref-list">
      {operations.map((operation) => {
        const { operationId, method, path, summary } = operation;
        return (
          <li key={operationId}>
            <Link to={`/console/operations/${operationId}`}>
              <MethodBadge method={method} />
              <span className="sy-ref-path sy-mono">{path}</span>
              <span className="sy-ref-summary">{summary}</span>
              {!hasPermissionFor(operation, permissions) && (
                <span className="sy-ref-lacking" title={t('lackingHint')}>
                  {t('lacking')}
                </span>
              )}
            </Link>
          </li>
        );
      })}
    </ul>
  );
}

/** Links to the complete OpenAPI and AsyncAPI documents. */
function Documents() {
  return (
    <>
      {[
        ['/openapi.json', 'OpenAPI'],
        ['/asyncapi.json', 'AsyncAPI'],
      ].map(([address, name]) => (
        <a
          key={address}
          className="sy-ref-document"
          href={address}
          target="_blank"
          rel="noreferrer"
        >
          {name} <Icon name="external" size={14} />
        </a>
      ))}
    </>
  );
}
