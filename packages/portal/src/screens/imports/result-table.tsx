/** Shows import results: counts, and failed lines with the reason. */
import type { BulkResult, BulkSummary } from '@switchyard/contract';
import { EmptyState } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { textColumn } from '../../table/columns.tsx';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { ReadPage } from '../../table/row-store.ts';
import { resultErrorText } from './result-stream.ts';
import './imports.css';

type Counts = Pick<
  BulkSummary['summary'],
  'created' | 'replaced' | 'unchanged' | 'deleted' | 'failed'
>;
const counted = ['created', 'replaced', 'unchanged', 'deleted', 'failed'] as const;

export function CountTiles({ counts }: { readonly counts: Counts }) {
  const t = useTranslate('imports');
  const formats = useFormats();
  const toneOf = (name: (typeof counted)[number]) => {
    if (counts[name] === 0) return undefined;
    return name === 'failed' ? 'bad' : name === 'created' ? 'good' : undefined;
  };
  return (
    <ul className="sy-tiles" aria-label={t('counts.title')}>
      {counted.map((name) => (
        <li key={name} className="sy-tile" data-tone={toneOf(name)}>
          <span>{t(`counts.${name}`)}</span>
          <strong>{formats.number(counts[name])}</strong>
        </li>
      ))}
    </ul>
  );
}

const columnsOf = (t: Translate): Column<BulkResult>[] => [
  { header: t('line'), width: '5rem', cardPosition: 'trail', cell: ({ line }) => line },
  {
    header: t('state'),
    width: '9rem',
    cardPosition: 'subtrail',
    cell: ({ status }) => (
      <StateBadge state={status} tone={status === 'failed' ? 'bad' : 'good'}>
        {t(`results.${status}`)}
      </StateBadge>
    ),
  },
  {
    ...textColumn(
      t('what'),
      ({ type, externalId }) =>
        [type && t(`types.${type}`), externalId].filter((part) => part !== undefined).join(' '),
      'lead',
    ),
    width: '14rem',
  },
  textColumn(t('reason'), (result) => resultErrorText(result) || result.error?.detail, 'sub'),
];

/** Pages over results in memory, with the interface of the API pages. */
export function pagesOf(results: readonly BulkResult[]): ReadPage<BulkResult> {
  const pageRows = 200;
  return (cursor) => {
    const from = Number(cursor ?? 0);
    const next = from + pageRows;
    return Promise.resolve({
      items: results.slice(from, next),
      nextCursor: next < results.length ? String(next) : null,
    });
  };
}

export function ResultTable({
  listKey,
  read,
}: {
  readonly listKey: readonly unknown[];
  readonly read: ReadPage<BulkResult>;
}) {
  const t = useTranslate('imports');
  return (
    <DataTable
      label={t('answers')}
      listKey={listKey}
      read={read}
      columns={columnsOf(t)}
      rowKey={({ line }) => String(line)}
      empty={
        <EmptyState icon="clock" title={t('noAnswers.title')}>
          {t('noAnswers.text')}
        </EmptyState>
      }
    />
  );
}
