/** Where a service is in use: merchants, then the stores of one, then the devices of a store. */
import { Button } from '@mantine/core';
import type { Service, ServicePlace, ServiceStateList } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, type Query } from '../../api/client.ts';
import { Problem } from '../../components/layout/error-message.tsx';
import { EmptyState, Panel } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { Name } from '../../components/values/values.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useCan, useSession } from '../../session/use-session.ts';
import { type Column, DataTable } from '../../table/data-table.tsx';
import { SwitchDialogue, type Target } from './activation-dialog.tsx';
import { catalogue, useDecided, usePlaces } from './service-queries.ts';

type Under = { readonly merchantId?: string; readonly storeId?: string };

/** Below what is looked, as the address has it. */
function useUnder(): [Under, Query] {
  const [{ merchantId, storeId }] = useFilters(['merchantId', 'storeId'] as const);
  if (storeId !== undefined) return [{ storeId }, { storeId }];
  return merchantId === undefined ? [{}, {}] : [{ merchantId }, { merchantId }];
}

/** What the address says of what stands right below; undefined where nothing does. */
function below({ level, entityId }: ServicePlace): Under | undefined {
  if (level === 'Merchant') return { merchantId: entityId };
  return level === 'Store' ? { storeId: entityId } : undefined;
}

function PlaceName({ servicePlace, to }: { readonly servicePlace: ServicePlace; readonly to: string }) {
  const search = below(servicePlace);
  if (search === undefined) return <Name>{servicePlace.name}</Name>;
  return (
    <Link className="sy-table-link" to={to} search={search as never}>
      <Name>{servicePlace.name}</Name>
    </Link>
  );
}

function toneOf({ usable, active }: ServicePlace) {
  if (usable) return 'good';
  return active ? 'warn' : 'plain';
}

function wordOf({ usable, active, status }: ServicePlace): string {
  if (usable) return 'usable';
  if (active) return 'blocked';
  return status === undefined ? 'off' : `status.${status}`;
}

function columnsOf(
  t: Translate,
  to: string,
  onSwitch: ((servicePlace: ServicePlace) => void) | undefined,
) {
  const columns: Column<ServicePlace>[] = [
    {
      id: 'name',
      header: t('places.name'),
      narrow: 'lead',
      cell: (servicePlace) => <PlaceName servicePlace={servicePlace} to={to} />,
    },
    {
      id: 'standing',
      header: t('places.standing'),
      width: '15rem',
      narrow: 'sub',
      cell: (servicePlace) => (
        <StateBadge state="" tone={toneOf(servicePlace)}>
          {t(`places.${wordOf(servicePlace)}`)}
        </StateBadge>
      ),
    },
  ];
  if (onSwitch === undefined) return columns;
  const action: Column<ServicePlace> = {
    id: 'action',
    header: t('places.action'),
    width: '9rem',
    narrow: 'trail',
    align: 'end',
    cell: (servicePlace) => (
      <Button
        variant="default"
        size="compact-xs"
        aria-label={t(servicePlace.active ? 'switch.offAt' : 'switch.onAt', { name: servicePlace.name })}
        onClick={() => onSwitch(servicePlace)}
      >
        {t(servicePlace.active ? 'switch.off' : 'switch.on')}
      </Button>
    ),
  };
  return [...columns, action];
}

export function ActivationList({
  service,
  maySwitch,
}: {
  readonly service: Service;
  /** Only what is subscribed can be switched on. */
  readonly maySwitch: boolean;
}) {
  const t = useTranslate('services');
  const { serviceId } = service;
  const [under, query] = useUnder();
  const [target, setTarget] = useState<Target | undefined>(undefined);
  // The list that is looked at is read anew after a change, and once its provider has answered.
  const [round, setRound] = useState(0);
  const reloadList = () => setRound((before) => before + 1);
  const follow = useDecided(reloadList);
  const mayWrite = useCan('sub.write', 'conf.write') && maySwitch;
  const { data, error } = usePlaces(serviceId, query);
  const kind = data?.above.length ?? (under.storeId ? 3 : under.merchantId ? 2 : 1);
  const kinds = ['merchants', 'stores', 'devices'] as const;
  const onSwitch = ({ level, entityId, name, active }: ServicePlace) =>
    setTarget({ level, entityId, name, isOn: !active });
  return (
    <Panel title={t('places.title')} flush>
      <Above
        service={service}
        above={data?.above ?? []}
        onSwitch={mayWrite ? setTarget : undefined}
      />
      {error !== null && <Problem fault={error} />}
      <div className="sy-places-table">
        <DataTable
          label={t(`places.${kinds[kind - 1] ?? 'merchants'}`)}
          listKey={['service-places', serviceId, under, round]}
          read={(cursor, signal) =>
            api.get<ServiceStateList>(`${catalogue}/services/${serviceId}/places`, {
              query: { ...query, cursor, limit: 200 },
              signal,
            })
          }
          columns={columnsOf(t, `/services/${serviceId}`, mayWrite ? onSwitch : undefined)}
          rowKey={({ entityId }) => entityId}
          empty={<EmptyState icon="store" title={t('places.empty')} />}
        />
      </div>
      {target !== undefined && (
        <SwitchDialogue
          service={service}
          target={target}
          onClose={() => setTarget(undefined)}
          onDone={(activation) => {
            reloadList();
            follow(activation);
          }}
        />
      )}
    </Panel>
  );
}

type Level = ServiceStateList['above'][number];

const wordAbove = ({ active, status }: Level): string => {
  if (active) return 'places.on';
  return status === undefined ? 'places.off' : `places.status.${status}`;
};

/** The way down from the organisation, and how the service stands at the last of it. */
function Above({
  service: { serviceId },
  above,
  onSwitch,
}: {
  readonly service: Service;
  readonly above: readonly Level[];
  readonly onSwitch: ((target: Target) => void) | undefined;
}) {
  const t = useTranslate('services');
  const { organizationName, merchantId } = useSession();
  const last = above.at(-1);
  const nameOf = ({ name }: Level) => name ?? organizationName;
  const searchOf = ({ level, entityId }: Level): Under =>
    level === 'Merchant' ? { merchantId: entityId } : {};
  // A merchant decides nothing for the organisation.
  const isOwn = last !== undefined && (last.level !== 'Organization' || merchantId === undefined);
  return (
    <div className="sy-places-notes">
      <ol className="sy-places-path" aria-label={t('places.path')}>
        {above.map((level, at) => (
          <li key={level.entityId}>
            {at > 0 && <span aria-hidden="true">›</span>}
            {at < above.length - 1 ? (
              <Link
                className="sy-cut"
                to={`/services/${serviceId}`}
                search={searchOf(level) as never}
              >
                {nameOf(level)}
              </Link>
            ) : (
              <strong className="sy-cut">{nameOf(level)}</strong>
            )}
            <StateBadge state="" tone={level.active ? 'good' : 'plain'}>
              {t(wordAbove(level))}
            </StateBadge>
          </li>
        ))}
      </ol>
      {onSwitch !== undefined && isOwn && (
        <Button
          variant={last.active ? 'default' : 'filled'}
          size="xs"
          onClick={() =>
            onSwitch({
              level: last.level,
              entityId: last.entityId,
              name: nameOf(last),
              isOn: !last.active,
            })
          }
        >
          {t(last.active ? 'switch.offHere' : 'switch.onHere')}
        </Button>
      )}
    </div>
  );
}
