/** Lists the activations of a service: merchants, then stores, then logical devices. */
import { Button, Checkbox } from '@mantine/core';
import type {
  ActivationLevel,
  Service,
  ServiceActivation,
  ServicePlace,
  ServiceStateList,
} from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api, type Query } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { type FormValues, schemaFields } from '../../components/forms/schema-fields.ts';
import { SchemaForm } from '../../components/forms/schema-form.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Panel } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { TruncatedName } from '../../components/values/values.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import { catalogUrl, useActivationDecision, useServicePlaces } from './service-queries.ts';

type ParentScope = { readonly merchantId?: string; readonly storeId?: string };

/** The parent level in the page address. */
function useParentScope(): [ParentScope, Query] {
  const [{ merchantId, storeId }] = useFilters(['merchantId', 'storeId'] as const);
  if (storeId !== undefined) return [{ storeId }, { storeId }];
  return merchantId === undefined ? [{}, {}] : [{ merchantId }, { merchantId }];
}

/** The search parameters of the next lower level; undefined at the lowest level. */
function childScope({ level, entityId }: ServicePlace): ParentScope | undefined {
  if (level === 'Merchant') return { merchantId: entityId };
  return level === 'Store' ? { storeId: entityId } : undefined;
}

function PlaceName({
  servicePlace,
  to,
}: {
  readonly servicePlace: ServicePlace;
  readonly to: string;
}) {
  const search = childScope(servicePlace);
  if (search === undefined) return <TruncatedName>{servicePlace.name}</TruncatedName>;
  return (
    <Link className="sy-table-link" to={to} search={search as never}>
      <TruncatedName>{servicePlace.name}</TruncatedName>
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
      header: t('places.name'),
      cardPosition: 'lead',
      cell: (servicePlace) => <PlaceName servicePlace={servicePlace} to={to} />,
    },
    {
      header: t('places.standing'),
      width: '15rem',
      cardPosition: 'sub',
      cell: (servicePlace) => (
        <StateBadge state="" tone={toneOf(servicePlace)}>
          {t(`places.${wordOf(servicePlace)}`)}
        </StateBadge>
      ),
    },
  ];
  if (onSwitch === undefined) return columns;
  const action: Column<ServicePlace> = {
    header: t('places.action'),
    width: '9rem',
    cardPosition: 'trail',
    align: 'end',
    cell: (servicePlace) => (
      <Button
        variant="default"
        size="compact-xs"
        aria-label={t(servicePlace.active ? 'switch.offAt' : 'switch.onAt', {
          name: servicePlace.name,
        })}
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
  /** True if the organisation has subscribed to the service. */
  readonly maySwitch: boolean;
}) {
  const t = useTranslate('services');
  const { serviceId } = service;
  const [under, query] = useParentScope();
  const [target, setTarget] = useState<ActivationTarget | undefined>(undefined);
  const follow = useActivationDecision();
  const mayWrite = useHasPermission('sub.write', 'conf.write') && maySwitch;
  const { data, error } = useServicePlaces(serviceId, query);
  const kind = data?.above.length ?? (under.storeId ? 3 : under.merchantId ? 2 : 1);
  const kinds = ['merchants', 'stores', 'devices'] as const;
  const onSwitch = ({ level, entityId, name, active }: ServicePlace) =>
    setTarget({ level, entityId, name, isOn: !active });
  return (
    <Panel title={t('places.title')} flush>
      <ParentPath
        service={service}
        above={data?.above ?? []}
        onSwitch={mayWrite ? setTarget : undefined}
      />
      {error !== null && <ErrorMessage fault={error} />}
      <div className="sy-places-table">
        <ResourceList
          label={t(`places.${kinds[kind - 1] ?? 'merchants'}`)}
          name="service-places"
          path={`${catalogUrl}/services/${serviceId}/states`}
          queryFor={() => query}
          columns={columnsOf(t, `/services/${serviceId}`, mayWrite ? onSwitch : undefined)}
          rowKey={({ entityId }) => entityId}
          empty={{ icon: 'store', title: t('places.empty') }}
        />
      </div>
      {target !== undefined && (
        <ActivationDialog
          service={service}
          target={target}
          onClose={() => setTarget(undefined)}
          onDone={follow}
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

/** The path from the organisation to this level, with the status of the service. */
function ParentPath({
  service: { serviceId },
  above,
  onSwitch,
}: {
  readonly service: Service;
  readonly above: readonly Level[];
  readonly onSwitch: ((target: ActivationTarget) => void) | undefined;
}) {
  const t = useTranslate('services');
  const { organizationName, merchantId } = useSession();
  const last = above.at(-1);
  const nameOf = ({ name }: Level) => name ?? organizationName;
  const searchOf = ({ level, entityId }: Level): ParentScope =>
    level === 'Merchant' ? { merchantId: entityId } : {};
  // Users of a merchant cannot change the organisation level.
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

type ActivationTarget = {
  readonly level: ActivationLevel;
  readonly entityId: string;
  readonly name: string;
  /** True to activate, false to deactivate. */
  readonly isOn: boolean;
};

type Props = {
  readonly service: Service;
  readonly target: ActivationTarget;
  readonly onClose: () => void;
  /** Called after the activation is stored or sent to the provider. */
  readonly onDone: (activation: ServiceActivation) => void;
};

function useAfterwards({ onClose, onDone }: Pick<Props, 'onClose' | 'onDone'>) {
  const t = useTranslate('services');
  return (activation: ServiceActivation) => {
    const { status } = activation;
    reloadData('service-places', 'services');
    showToast(t(`switch.done.${status}`), status === 'Refused' ? 'bad' : 'good');
    onDone(activation);
    onClose();
  };
}

function ActivationDialog(props: Props) {
  return props.target.isOn ? <ActivateDialog {...props} /> : <DeactivateDialog {...props} />;
}

function ActivateDialog({ service, target, ...after }: Props) {
  const t = useTranslate('services');
  const { level, entityId, name } = target;
  const onDone = useAfterwards(after);
  const [parameters, setParameters] = useState<FormValues>({});
  const [includesExisting, setIncludes] = useState(true);
  const [fault, setFault] = useState<unknown>(undefined);
  const schema = service.activationParameters;
  const fields = schemaFields(schema);
  const takesMore = level !== 'LogicalDevice';
  return (
    <ConfirmDialog
      isOpen
      onClose={after.onClose}
      title={t('switch.onTitle', { service: service.name })}
      confirm={t('switch.on')}
      onFault={setFault}
      inlineErrorFields={fields.map((field) => `parameters.${field.name}`)}
      run={(idempotencyKey) =>
        api.post<ServiceActivation>(`${catalogUrl}/activations`, {
          idempotencyKey,
          body: {
            serviceId: service.serviceId,
            level,
            entityId,
            ...(fields.length === 0 ? {} : { parameters }),
            ...(takesMore ? { includesExisting } : {}),
          },
        })
      }
      onDone={onDone}
    >
      <p className="sy-dialogue-text sy-broken">
        {t(`switch.at.${level}`, { name })} {t('switch.asked')}
      </p>
      <SchemaForm
        schema={schema}
        values={parameters}
        onChange={setParameters}
        faults={errorsByField(fault)}
        path="parameters"
      />
      {takesMore && (
        <Checkbox
          label={t('switch.includes')}
          description={t('switch.includesText')}
          checked={includesExisting}
          onChange={({ currentTarget }) => setIncludes(currentTarget.checked)}
        />
      )}
    </ConfirmDialog>
  );
}

function DeactivateDialog({ service, target, ...after }: Props) {
  const t = useTranslate('services');
  const { level, entityId, name } = target;
  const onDone = useAfterwards(after);
  return (
    <ConfirmDialog
      isOpen
      isDangerous
      onClose={after.onClose}
      title={t('switch.offTitle', { service: service.name })}
      confirm={t('switch.off')}
      run={() =>
        api.post<ServiceActivation>(`${catalogUrl}/deactivations`, {
          body: { serviceId: service.serviceId, level, entityId },
        })
      }
      onDone={onDone}
    >
      <p className="sy-dialogue-text sy-broken">
        {t(`switch.at.${level}`, { name })} {t(`switch.offText.${level}`)}
      </p>
    </ConfirmDialog>
  );
}
