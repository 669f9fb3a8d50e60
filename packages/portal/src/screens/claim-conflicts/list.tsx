/** Terminals that two organisations claim with a proof; the operator of the platform settles the conflict. */
import { Button, Radio, Stack } from '@mantine/core';
import type { ClaimConflict, ClaimSettlement } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { DescriptionList, EmptyState, Page } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { discardLists } from '../../table/row-store-cache.ts';

const address = '/provisioning/v2/claim-conflicts';
const statuses = ['Open', 'Settled', 'Withdrawn'] as const;
const tones = { Open: 'warn', Settled: 'good', Withdrawn: 'plain' } as const;
const decisions = ['KeepHolder', 'GiveToClaimant'] as const;

type Party = ClaimConflict['holder'];

/** A deleted organisation has no name. */
const nameOf = ({ organizationName, organizationId }: Party) => organizationName ?? organizationId;

function createColumns(
  t: Translate,
  openDialog: (conflict: ClaimConflict) => void,
): Column<ClaimConflict>[] {
  return [
    {
      id: 'terminal',
      header: t('terminal'),
      cardPosition: 'lead',
      cell: ({ tsn }) => <TruncatedName>{tsn}</TruncatedName>,
    },
    {
      id: 'holder',
      header: t('holder'),
      cardPosition: 'sub',
      cell: ({ holder }) => <TruncatedName>{nameOf(holder)}</TruncatedName>,
    },
    {
      id: 'claimant',
      header: t('claimant'),
      cell: ({ claimant }) => <TruncatedName>{nameOf(claimant)}</TruncatedName>,
    },
    {
      id: 'created',
      header: t('created'),
      width: '10.5rem',
      cell: ({ createdAt }) => <DateTime at={createdAt} />,
    },
    {
      id: 'status',
      header: t('status'),
      width: '13rem',
      cardPosition: 'subtrail',
      cell: ({ status, decision }) => (
        <StateBadge state={status} tone={tones[status]}>
          {decision === undefined ? t(`statuses.${status}`) : t(`settled.${decision}`)}
        </StateBadge>
      ),
    },
    {
      id: 'decide',
      header: t('decide.column'),
      width: '7rem',
      cardPosition: 'trail',
      align: 'end',
      cell: (conflict) =>
        conflict.status === 'Open' ? (
          <Button
            variant="default"
            size="compact-xs"
            aria-label={t('decide.of', { tsn: conflict.tsn })}
            onClick={() => openDialog(conflict)}
          >
            {t('decide.open')}
          </Button>
        ) : null,
    },
  ];
}

export default function ClaimConflicts() {
  const t = useTranslate('claim-conflicts');
  const [filters, setFilters] = useFilters(['status'] as const);
  const [conflict, setConflict] = useState<ClaimConflict | undefined>(undefined);
  // The key changes after a decision, so the table reloads.
  const [decisionCount, setDecisionCount] = useState(0);
  return (
    <Page title={t('title')} lead={t('lead')} fill>
      <FilterBar
        fields={[
          {
            kind: 'choice',
            name: 'status',
            label: t('status'),
            options: statuses.map((value) => ({ value, label: t(`statuses.${value}`) })),
          },
        ]}
        values={filters}
        onChange={setFilters}
      />
      <DataTable
        label={t('title')}
        listKey={['claim-conflicts', filters, decisionCount]}
        read={(cursor, signal) =>
          api.get<RowsPage<ClaimConflict>>(address, {
            query: { ...filters, cursor, limit: 200 },
            signal,
          })
        }
        columns={createColumns(t, setConflict)}
        rowKey={({ conflictId }) => conflictId}
        empty={
          <EmptyState icon="device" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
      />
      {conflict !== undefined && (
        <SettleConflictDialog
          conflict={conflict}
          onClose={() => setConflict(undefined)}
          onDone={() => {
            discardLists('["claim-conflicts"');
            setConflict(undefined);
            setDecisionCount(decisionCount + 1);
          }}
        />
      )}
    </Page>
  );
}

function SettleConflictDialog({
  conflict,
  onClose,
  onDone,
}: {
  readonly conflict: ClaimConflict;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const t = useTranslate('claim-conflicts');
  const [decision, setDecision] = useState<ClaimSettlement['decision'] | undefined>(undefined);
  const { conflictId, tsn, holder, claimant } = conflict;
  const describeParty = (party: Party) =>
    t('party', { name: nameOf(party), method: t(`methods.${party.method}`) });
  return (
    <ConfirmDialog
      isOpen
      isDangerous={decision === 'GiveToClaimant'}
      isDisabled={decision === undefined}
      onClose={onClose}
      title={t('decide.of', { tsn })}
      confirm={t('decide.confirm')}
      run={() => api.post<ClaimConflict>(`${address}/${conflictId}/settle`, { body: { decision } })}
      onDone={() => {
        showToast(t('decide.done'));
        onDone();
      }}
    >
      <p className="sy-dialogue-text">{t('decide.text')}</p>
      <DescriptionList
        items={[
          [t('holder'), describeParty(holder)],
          [t('claimant'), describeParty(claimant)],
        ]}
      />
      <Radio.Group
        label={t('decide.label')}
        value={decision ?? null}
        onChange={(value) => setDecision(decisions.find((each) => each === value))}
      >
        <Stack gap="xs" mt="xs">
          {decisions.map((each) => (
            <Radio
              key={each}
              value={each}
              label={t(`decisions.${each}.label`, {
                name: nameOf(each === 'KeepHolder' ? holder : claimant),
              })}
              description={t(`decisions.${each}.text`)}
            />
          ))}
        </Stack>
      </Radio.Group>
    </ConfirmDialog>
  );
}
