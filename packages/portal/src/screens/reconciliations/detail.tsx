/** The page of a reconciliation: balances, counts and transactions. */
import { Button } from '@mantine/core';
import type { ReconciliationDetail, ReconciliationItem } from '@switchyard/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { EmptyState, Loading, Page } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { discardLists } from '../../table/row-store-cache.ts';
import { Balances } from './balances.tsx';
import { DecisionDialog } from './decision-dialog.tsx';
import { useItemColumns } from './item-columns.tsx';
import { OutcomeCounts } from './outcome-counts.tsx';
import './reconciliations.css';

const base = '/reporting/v1/reconciliations';
const askAgainMs = 1_500;
const filterNames = ['outcome', 'isOpen'] as const;
const outcomes = ['Different', 'MissingHere', 'MissingThere', 'Matched'];

function useReconciliation(id: string) {
  return useQuery({
    queryKey: ['reconciliation', id],
    queryFn: ({ signal }) => api.get<ReconciliationDetail>(`${base}/${id}`, { signal }),
    refetchInterval: ({ state: { data } }) =>
      data?.state === 'Receiving' || data?.state === 'Matching' ? askAgainMs : false,
  });
}

export default function ReconciliationPage() {
  const t = useTranslate('reconciliations');
  const reconciliationId = usePathParam('reconciliationId');
  const { data, error, refetch } = useReconciliation(reconciliationId);
  const backLink = { to: '/reconciliations', label: t('title') };
  if (data === undefined) {
    return (
      <Page title={t('one')} backLink={backLink}>
        {error === null ? (
          <Loading lines={10} />
        ) : (
          <ErrorMessage fault={error} onRetry={() => void refetch()} />
        )}
      </Page>
    );
  }
  return (
    <Page
      title={data.name ?? t('one')}
      aside={<StateBadge state={data.state}>{t(`states.${data.state}`)}</StateBadge>}
      backLink={backLink}
      actions={<Delete id={reconciliationId} />}
      fill
    >
      {error !== null && <ErrorMessage fault={error} />}
      {data.failure !== undefined && (
        <Note icon="alert" tone="warn">
          {t(`failures.${data.failure}`)}
        </Note>
      )}
      <div className="sy-reconciliation-head">
        <Balances reconciliation={data} />
        <OutcomeCounts reconciliation={data} />
      </div>
      {data.state === 'Completed' && <Movements reconciliation={data} />}
    </Page>
  );
}

function Movements({ reconciliation }: { readonly reconciliation: ReconciliationDetail }) {
  const t = useTranslate('reconciliations');
  const mayDecide = useHasPermission('rep.export');
  const [values, change] = useFilters(filterNames);
  const [chosen, setChosen] = useState<ReconciliationItem | undefined>(undefined);
  const columns = useItemColumns(t, mayDecide ? setChosen : undefined);
  const id = reconciliation.reconciliationId;
  return (
    <>
      <FilterBar
        fields={[
          {
            kind: 'choice',
            name: 'outcome',
            label: t('outcome'),
            options: outcomes.map((each) => ({ value: each, label: t(`outcomes.${each}`) })),
          },
          {
            kind: 'choice',
            name: 'isOpen',
            label: t('openOnly'),
            options: [{ value: 'true', label: t('openOnly') }],
          },
        ]}
        values={values}
        onChange={change}
      />
      <DataTable
        label={t('movements')}
        listKey={['reconciliation-items', id, values, reconciliation.open]}
        read={(cursor, signal) =>
          api.get<RowsPage<ReconciliationItem>>(`${base}/${id}/items`, {
            query: { ...values, cursor, limit: 200 },
            signal,
          })
        }
        columns={columns}
        rowKey={({ number }) => String(number)}
        empty={
          <EmptyState icon="check" title={t('nothing.title')}>
            {t('nothing.text')}
          </EmptyState>
        }
      />
      {chosen !== undefined && (
        <DecisionDialog id={id} item={chosen} onClose={() => setChosen(undefined)} />
      )}
    </>
  );
}

function Delete({ id }: { readonly id: string }) {
  const t = useTranslate('reconciliations');
  const client = useQueryClient();
  const navigate = useNavigate();
  const mayDelete = useHasPermission('rep.export');
  const [isOpen, setOpen] = useState(false);
  if (!mayDelete) return null;
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        {t('delete.do')}
      </Button>
      <ConfirmDialog
        isOpen={isOpen}
        isDangerous
        onClose={() => setOpen(false)}
        title={t('delete.title')}
        confirm={t('delete.do')}
        run={() => api.delete(`${base}/${id}`)}
        onDone={() => {
          discardLists('["reconciliations"');
          client.removeQueries({ queryKey: ['reconciliation', id] });
          showToast(t('delete.done'));
          void navigate({ to: '/reconciliations' });
        }}
      >
        <p className="sy-dialogue-text">{t('delete.text')}</p>
      </ConfirmDialog>
    </>
  );
}
