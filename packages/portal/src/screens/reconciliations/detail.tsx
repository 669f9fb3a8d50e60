/** The page of a reconciliation: balances, counts and transactions. */
import './reconciliations.css';
import { Button, Table } from '@mantine/core';
import type { ReconciliationDetail, ReconciliationItem } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { queryClient } from '../../api/query-client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { usePathParam } from '../../app/url-params.ts';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import type { Field } from '../../components/forms/form-fields.ts';
import { FormInputs, useForm } from '../../components/forms/use-form.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { Money } from '../../components/values/values.tsx';
import { translatedOptions } from '../../filters/filter-options.ts';
import { useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission } from '../../session/use-session.ts';
import { ResourceList } from '../../table/resource-list.tsx';
import { discardLists } from '../../table/row-store-cache.ts';
import { itemColumns } from './item-columns.tsx';

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

const outcomeMembers = [
  ['Matched', 'matched'],
  ['Different', 'different'],
  ['MissingHere', 'missingHere'],
  ['MissingThere', 'missingThere'],
] as const;

function OutcomeCounts({ reconciliation }: { readonly reconciliation: ReconciliationDetail }) {
  const t = useTranslate('reconciliations');
  const formats = useFormats();
  return (
    <Panel title={t('counts')}>
      <dl className="sy-counts">
        {outcomeMembers.map(([outcome, member]) => (
          <div key={outcome} data-outcome={outcome} data-none={reconciliation[member] === 0}>
            <dt>{t(`outcomes.${outcome}`)}</dt>
            <dd>
              <Link
                to={`/reconciliations/${reconciliation.reconciliationId}`}
                search={{ outcome } as never}
                aria-label={`${t(`outcomes.${outcome}`)}: ${formats.number(reconciliation[member])}`}
              >
                {formats.number(reconciliation[member])}
              </Link>
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}

function DecisionDialog({
  id,
  item,
  onClose,
}: {
  readonly id: string;
  readonly item: ReconciliationItem;
  readonly onClose: () => void;
}) {
  const t = useTranslate('reconciliations');
  const { number, outcome, waysToResolve } = item;
  const fields: readonly Field[] = [
    { name: 'resolution', kind: 'radio', options: waysToResolve, first: waysToResolve[0] ?? '' },
    { name: 'note', kind: 'paragraph', max: 500 },
  ];
  const form = useForm(() => fields);
  const path = `/reporting/v1/reconciliations/${id}/items/${number}/resolve`;
  return (
    <ConfirmDialog
      {...form.confirmProps}
      isOpen
      onClose={onClose}
      title={t('decide.title')}
      confirm={t('decide.do')}
      run={() => api.post<ReconciliationItem>(path, { body: form.body })}
      onDone={() => {
        onClose();
        showToast(t('decide.done'));
        reloadData('reconciliation-items', 'reconciliation');
      }}
    >
      <p className="sy-dialogue-text">{t(`explained.${outcome}`)}</p>
      <FormInputs form={form} t={t} hasFocus={false} />
    </ConfirmDialog>
  );
}

const sides = ['theirs', 'operations', 'ledger', 'fees'] as const;

function Balances({ reconciliation }: { readonly reconciliation: ReconciliationDetail }) {
  const t = useTranslate('reconciliations');
  if (reconciliation.balances.length === 0) return null;
  const names = sides.map((side) => t(`sides.${side}`)).join(', ');
  return (
    <Panel title={t('balances')} flush>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: on a phone it is scrolled sideways, by keys too */}
      <section className="sy-balances" tabIndex={0} aria-label={names}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('currency')}</Table.Th>
              {sides.map((side) => (
                <Table.Th key={side}>{t(`sides.${side}`)}</Table.Th>
              ))}
              <Table.Th>{t('agree')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {reconciliation.balances.map((balance) => (
              <Table.Tr key={balance.currency}>
                <Table.Th scope="row">{balance.currency}</Table.Th>
                {sides.map((side) => (
                  <Table.Td key={side}>
                    <Money amount={BigInt(balance[side])} currency={balance.currency} />
                  </Table.Td>
                ))}
                <Table.Td>
                  <StateBadge state="" tone={balance.isBalanced ? 'good' : 'bad'}>
                    {t(balance.isBalanced ? 'yes' : 'no')}
                  </StateBadge>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </section>
    </Panel>
  );
}
