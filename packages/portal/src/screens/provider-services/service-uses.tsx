/** The organisations and activations that use a service, with open requests. */
import { Button, SegmentedControl, Textarea } from '@mantine/core';
import type { Service, ServiceUse } from '@switchyard/contract';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { ShortId } from '../../components/values/values.tsx';
import { translatedOptions } from '../../filters/filter-options.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { numberColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import { catalogUrl } from '../services/service-queries.ts';
import { serviceUrl } from './provider-service-queries.ts';

const levels = ['Organization', 'Merchant', 'Store', 'LogicalDevice'];
const tones = {
  Requested: 'busy',
  Pending: 'warn',
  Active: 'good',
  Refused: 'bad',
  Inactive: 'plain',
} as const;

function columnsOf(t: Translate, onAnswer: ((use: ServiceUse) => void) | undefined) {
  const columns: Column<ServiceUse>[] = [
    textColumn(
      t('uses.organization'),
      ({ organizationName, organizationId }) => organizationName ?? organizationId,
      'lead',
    ),
    {
      header: t('uses.entity'),
      width: '12rem',
      cell: ({ level, entityId, organizationId }) =>
        entityId === organizationId ? t(`levels.${level}`) : <ShortId id={entityId} />,
    },
    numberColumn(t('uses.release'), '7rem', ({ release }) => release),
    timeColumn(t('uses.requested'), ({ requestedAt }) => requestedAt, 'sub'),
    {
      header: t('uses.status'),
      width: '11rem',
      cardPosition: 'trail',
      cell: ({ status }) => (
        <StateBadge state="" tone={tones[status]}>
          {t(`uses.statuses.${status}`)}
        </StateBadge>
      ),
    },
  ];
  if (onAnswer === undefined) return columns;
  const answer: Column<ServiceUse> = {
    header: t('uses.answer'),
    width: '8rem',
    cardPosition: 'subtrail',
    align: 'end',
    cell: (use) =>
      use.status === 'Pending' ? (
        <Button variant="default" size="compact-xs" onClick={() => onAnswer(use)}>
          {t('uses.answer')}
        </Button>
      ) : null,
  };
  return [...columns, answer];
}

export function ServiceUses({ service: { serviceId } }: { readonly service: Service }) {
  const t = useTranslate('provider-services');
  const mayAnswer = useHasPermission('svc.write');
  const [use, setUse] = useState<ServiceUse | undefined>(undefined);
  return (
    <div className="sy-own-uses">
      <ResourceList
        label={t('uses.title')}
        name="service-uses"
        path={`${serviceUrl(serviceId)}/activations`}
        filters={[
          {
            kind: 'choice',
            name: 'level',
            label: t('uses.level'),
            options: translatedOptions(t, 'levels', levels),
          },
          {
            kind: 'choice',
            name: 'status',
            label: t('uses.status'),
            options: translatedOptions(t, 'uses.statuses', Object.keys(tones)),
          },
        ]}
        columns={columnsOf(t, mayAnswer ? setUse : undefined)}
        rowKey={({ activationId }) => activationId}
        empty={{ icon: 'merchants', title: t('uses.empty.title'), text: t('uses.empty.text') }}
      />
      {use !== undefined && <ActivationAnswer use={use} onClose={() => setUse(undefined)} />}
    </div>
  );
}

type Word = 'Accepted' | 'Refused';

function ActivationAnswer({
  use,
  onClose,
}: {
  readonly use: ServiceUse;
  readonly onClose: () => void;
}) {
  const t = useTranslate('provider-services');
  const { organizationId, activationId, handshakeId, organizationName } = use;
  const [status, setStatus] = useState<Word>('Accepted');
  const [reason, setReason] = useState('');
  const [fault, setFault] = useState<unknown>(undefined);
  const path = `${catalogUrl}/organizations/${organizationId}/activations/${activationId}/answer`;
  const why = status === 'Refused' && reason.trim() !== '' ? { reason: reason.trim() } : {};
  return (
    <ConfirmDialog
      isOpen
      isDangerous={status === 'Refused'}
      onClose={onClose}
      title={t('answer.title', { name: organizationName ?? organizationId })}
      confirm={t(`answer.do.${status}`)}
      onFault={setFault}
      inlineErrorFields={['reason']}
      run={() => api.post(path, { body: { handshakeId, status, ...why } })}
      onDone={() => {
        reloadData('service-uses', 'own-services');
        showToast(t(`answer.done.${status}`));
        onClose();
      }}
    >
      <p className="sy-dialogue-text">{t('answer.text')}</p>
      <SegmentedControl
        fullWidth
        aria-label={t('uses.answer')}
        data={(['Accepted', 'Refused'] as const).map((value) => ({
          value,
          label: t(`answer.choice.${value}`),
        }))}
        value={status}
        onChange={(value) => setStatus(value as Word)}
      />
      {status === 'Refused' && (
        <Textarea
          label={t('answer.reason')}
          description={t('answer.reasonText')}
          maxLength={500}
          autosize
          minRows={2}
          value={reason}
          error={errorsByField(fault)['reason']}
          onChange={({ currentTarget }) => setReason(currentTarget.value)}
        />
      )}
    </ConfirmDialog>
  );
}
