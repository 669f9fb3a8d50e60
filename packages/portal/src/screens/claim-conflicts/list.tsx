/** Terminals that two organisations claim with a proof; the operator of the platform settles the conflict. */
import { Button, Radio, Stack } from '@mantine/core';
import type { ClaimConflict, ClaimSettlement } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { DescriptionList, Page } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { translatedOptions } from '../../filters/filter-options.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';

const path = '/provisioning/v2/claim-conflicts';
const tones = { Open: 'warn', Settled: 'good', Withdrawn: 'plain' } as const;
const decisions = ['KeepHolder', 'GiveToClaimant'] as const;

type Party = ClaimConflict['holder'];

/** A deleted organisation has no name. */
const nameOf = ({ organizationName, organizationId }: Party) => organizationName ?? organizationId;

const columnsOf = (
  t: Translate,
  openDialog: (conflict: ClaimConflict) => void,
): Column<ClaimConflict>[] => [
  textColumn(t('terminal'), ({ tsn }) => tsn, 'lead'),
  textColumn(t('holder'), ({ holder }) => nameOf(holder), 'sub'),
  textColumn(t('claimant'), ({ claimant }) => nameOf(claimant)),
  timeColumn(t('created'), ({ createdAt }) => createdAt),
  {
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

export default function ClaimConflicts() {
  const t = useTranslate('claim-conflicts');
  const [conflict, setConflict] = useState<ClaimConflict | undefined>(undefined);
  return (
    <Page title={t('title')} lead={t('lead')} fill>
      <ResourceList
        label={t('title')}
        name="claim-conflicts"
        path={path}
        filters={[
          {
            kind: 'choice',
            name: 'status',
            label: t('status'),
            options: translatedOptions(t, 'statuses', Object.keys(tones)),
          },
        ]}
        columns={columnsOf(t, setConflict)}
        rowKey={({ conflictId }) => conflictId}
        empty={{ icon: 'device', title: t('empty.title'), text: t('empty.text') }}
      />
      {conflict !== undefined && (
        <SettleConflictDialog conflict={conflict} onClose={() => setConflict(undefined)} />
      )}
    </Page>
  );
}

function SettleConflictDialog({
  conflict,
  onClose,
}: {
  readonly conflict: ClaimConflict;
  readonly onClose: () => void;
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
      run={() => api.post<ClaimConflict>(`${path}/${conflictId}/settle`, { body: { decision } })}
      onDone={() => {
        showToast(t('decide.done'));
        reloadData('claim-conflicts');
        onClose();
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
