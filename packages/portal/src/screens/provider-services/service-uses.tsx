/** The organisations and activations that use a service, with open requests. */
import { Button } from '@mantine/core';
import type { Service, ServiceUse } from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { EmptyState } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, ShortId, TruncatedName } from '../../components/values/values.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import type { RowsPage } from '../../table/row-store.ts';
import { ActivationAnswer } from './activation-answer.tsx';
import { serviceUrl } from './provider-service-queries.ts';

const filterNames = ['level', 'status'] as const;
const levels = ['Organization', 'Merchant', 'Store', 'LogicalDevice'] as const;
const statuses = ['Requested', 'Pending', 'Active', 'Refused', 'Inactive'] as const;
const tones = {
  Requested: 'busy',
  Pending: 'warn',
  Active: 'good',
  Refused: 'bad',
  Inactive: 'plain',
} as const;

function columnsOf(t: Translate, onAnswer: ((use: ServiceUse) => void) | undefined) {
  const columns: Column<ServiceUse>[] = [
    {
      id: 'organization',
      header: t('uses.organization'),
      cardPosition: 'lead',
      cell: ({ organizationName, organizationId }) => (
        <TruncatedName>{organizationName ?? organizationId}</TruncatedName>
      ),
    },
    {
      id: 'entity',
      header: t('uses.entity'),
      width: '12rem',
      cell: ({ level, entityId, organizationId }) =>
        entityId === organizationId ? t(`levels.${level}`) : <ShortId id={entityId} />,
    },
    {
      id: 'release',
      header: t('uses.release'),
      width: '7rem',
      align: 'end',
      cell: ({ release }) => release,
    },
    {
      id: 'requested',
      header: t('uses.requested'),
      width: '10.5rem',
      cardPosition: 'sub',
      cell: ({ requestedAt }) => <DateTime at={requestedAt} />,
    },
    {
      id: 'status',
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
    id: 'answer',
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
  const [values, change] = useFilters(filterNames);
  const [use, setUse] = useState<ServiceUse | undefined>(undefined);
  // The table reloads after an answer.
  const [round, setRound] = useState(0);
  return (
    <div className="sy-own-uses">
      <FilterBar
        fields={[
          {
            kind: 'choice',
            name: 'level',
            label: t('uses.level'),
            options: levels.map((value) => ({ value, label: t(`levels.${value}`) })),
          },
          {
            kind: 'choice',
            name: 'status',
            label: t('uses.status'),
            options: statuses.map((value) => ({ value, label: t(`uses.statuses.${value}`) })),
          },
        ]}
        values={values}
        onChange={change}
      />
      <DataTable
        label={t('uses.title')}
        listKey={['service-uses', serviceId, values, round]}
        read={(cursor, signal) =>
          api.get<RowsPage<ServiceUse>>(`${serviceUrl(serviceId)}/activations`, {
            query: { ...values, cursor, limit: 200 },
            signal,
          })
        }
        columns={columnsOf(t, mayAnswer ? setUse : undefined)}
        rowKey={({ activationId }) => activationId}
        empty={
          <EmptyState icon="merchants" title={t('uses.empty.title')}>
            {t('uses.empty.text')}
          </EmptyState>
        }
      />
      {use !== undefined && (
        <ActivationAnswer
          use={use}
          onClose={() => setUse(undefined)}
          onDone={() => setRound(round + 1)}
        />
      )}
    </div>
  );
}
