/** The page of a reconciliation: balances, counts and transactions. */
import { Button } from '@mantine/core';
import type { ReconciliationDetail, ReconciliationItem } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { queryClient } from '../../api/query-client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { Page } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { translatedOptions } from '../../filters/filter-options.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { ResourceList } from '../../table/resource-list.tsx';
import { discardLists } from '../../table/row-store-cache.ts';
import { Balances } from './balances.tsx';
import { DecisionDialog } from './decision-dialog.tsx';
import { itemColumns } from './item-columns.tsx';
import { OutcomeCounts } from './outcome-counts.tsx';
import './reconciliations.css';

const base = '/reporting/v1/reconciliations';
const askAgainMs = 1_500;
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
  const query = useReconciliation(reconciliationId);
  const { data, error } = query;
  const backLink = { to: '/reconciliations', label: t('title') };
  if (data === undefined) return <PendingPage query={query} title={t('one')} backLink={backLink} />;
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
  const [chosen, setChosen] = useState<ReconciliationItem | undefined>(undefined);
  const id = reconciliation.reconciliationId;
  return (
    <>
      <ResourceList
        label={t('movements')}
        name="reconciliation-items"
        path={`${base}/${id}/items`}
        filters={[
          {
            kind: 'choice',
            name: 'outcome',
            label: t('outcome'),
            options: translatedOptions(t, 'outcomes', outcomes),
          },
          {
            kind: 'choice',
            name: 'isOpen',
            label: t('openOnly'),
            options: [{ value: 'true', label: t('openOnly') }],
          },
        ]}
        version={reconciliation.open}
        columns={itemColumns(t, mayDecide ? setChosen : undefined)}
        rowKey={({ number }) => String(number)}
        empty={{ icon: 'check', title: t('nothing.title'), text: t('nothing.text') }}
      />
      {chosen !== undefined && (
        <DecisionDialog id={id} item={chosen} onClose={() => setChosen(undefined)} />
      )}
    </>
  );
}

function Delete({ id }: { readonly id: string }) {
  const t = useTranslate('reconciliations');
  const navigate = useNavigate();
  const mayDelete = useHasPermission('rep.export');
  const [isOpen, setOpen] = useState(false);
  if (!mayDelete) return null;
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        {t('delete.do')}
      </Button>
      {isOpen && (
        <ActionDialog
          t={t}
          action="delete"
          isDangerous
          run={() => api.delete(`${base}/${id}`)}
          onClose={() => setOpen(false)}
          onDone={() => {
            discardLists('reconciliations');
            queryClient.removeQueries({ queryKey: ['reconciliation', id] });
            void navigate({ to: '/reconciliations' });
          }}
        />
      )}
    </>
  );
}
