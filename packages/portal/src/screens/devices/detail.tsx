/** One piece of hardware: whether it is connected, where it stands, what it runs, and what it proves itself with. */
import { Button } from '@mantine/core';
import type { ConnectedDevice, PhysicalDevice } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useParam } from '../../app/url-params.ts';
import { Icon } from '../../components/icon.tsx';
import { Problem } from '../../components/layout/error-message.tsx';
import { Facts, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { Time } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import { LabelList, PageInWait, useCommonFacts } from '../estate/detail-page.tsx';
import { EntityActions } from '../estate/entity-actions.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { useVersioned } from '../estate/versioned-entities.ts';
import { Delivery, PlaceServices } from '../logical-devices/device-services.tsx';
import { Certificates } from './certificates.tsx';
import { Presence } from './connection-badge.tsx';
import { MoveDialogue } from './move-dialog.tsx';
import { Claim } from './terminal-claim.tsx';
import { askAgainMs } from './use-live-connections.ts';
import './devices.css';

function useConnected(physicalDeviceId: string) {
  return useQuery({
    queryKey: ['estate', 'connected', physicalDeviceId],
    queryFn: ({ signal }) =>
      api.get<ConnectedDevice>(addresses.presenceOf(physicalDeviceId), {
        signal,
        isBackground: true,
      }),
    refetchInterval: askAgainMs,
  });
}

type Connected = ReturnType<typeof useConnected>;

function Connection({ deviceQuery: { data, error, refetch } }: { readonly deviceQuery: Connected }) {
  const t = useTranslate('devices');
  return (
    <Panel title={t('connection')}>
      {error !== null && <Problem fault={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Loading lines={2} />}
      {data !== undefined && (
        <Facts
          items={[
            [
              t('status'),
              <Presence key="status" connection={data.connection} enabled={data.enabled} />,
            ],
            [t('since'), data.connection.since && <Time key="since" at={data.connection.since} />],
            [
              t('seen'),
              data.connection.lastSeenAt && <Time key="seen" at={data.connection.lastSeenAt} />,
            ],
            [t('node'), data.connection.node],
          ]}
        />
      )}
    </Panel>
  );
}

function Location({ deviceQuery }: { readonly deviceQuery: Connected }) {
  const t = useTranslate('devices');
  const { name, deviceId, storeId, merchantId } = deviceQuery.data ?? {};
  const link = (to: string, kind: 'merchants' | 'stores', id: string) => (
    <Link key={kind} className="sy-link" to={to}>
      <EntityName kind={kind} id={id} />
    </Link>
  );
  return (
    <Panel title={t('standing')}>
      {deviceId === undefined && <p className="sy-nothing">{t('inStockText')}</p>}
      <Facts
        items={[
          [
            t('place'),
            deviceId && (
              <Link key="place" className="sy-link sy-broken" to={`/places/${deviceId}`}>
                {name}
              </Link>
            ),
          ],
          [t('store'), storeId && link(`/stores/${storeId}`, 'stores', storeId)],
          [t('merchant'), merchantId && link(`/merchants/${merchantId}`, 'merchants', merchantId)],
        ]}
      />
    </Panel>
  );
}

function Hardware({ device }: { readonly device: PhysicalDevice }) {
  const t = useTranslate('devices');
  const common = useCommonFacts(device.physicalDeviceId, device);
  return (
    <Panel title={t('hardware')}>
      <Facts
        items={[
          [t('serialNumber'), device.serialNumber],
          [t('model'), `${device.make} ${device.model}`],
          [t('family'), device.family],
          [t('tsn'), device.tsn],
          ...common,
        ]}
      />
    </Panel>
  );
}

function PageActions({ deviceQuery }: { readonly deviceQuery: ReturnType<typeof useVersioned<PhysicalDevice>> }) {
  const t = useTranslate('devices');
  const navigate = useNavigate();
  const mayWrite = useCan('prov.write');
  const [isMoving, setMoving] = useState(false);
  if (deviceQuery.data === undefined) return null;
  const { physicalDeviceId } = deviceQuery.data.body;
  return (
    <>
      <EntityActions
        kind="device"
        address={addresses.device(physicalDeviceId)}
        versioned={deviceQuery.data}
        editTo={`/devices/${physicalDeviceId}/edit`}
        mayWrite={mayWrite}
        onDeleted={() => void navigate({ to: '/devices' })}
      >
        {mayWrite && (
          <Button
            variant="default"
            leftSection={<Icon name="store" size={16} />}
            onClick={() => setMoving(true)}
          >
            {t('move.open')}
          </Button>
        )}
      </EntityActions>
      {isMoving && <MoveDialogue device={deviceQuery.data.body} onClose={() => setMoving(false)} />}
    </>
  );
}

export default function DevicePage() {
  const t = useTranslate('devices');
  const physicalDeviceId = useParam('physicalDeviceId');
  const query = useVersioned<PhysicalDevice>(addresses.device(physicalDeviceId));
  const connected = useConnected(physicalDeviceId);
  const back = { to: '/devices', label: t('title') };
  if (query.data === undefined) return <PageInWait query={query} title={t('one')} backLink={back} />;
  const device = query.data.body;
  const { logicalDeviceId } = device;
  return (
    <Page
      title={connected.data?.name ?? device.name}
      aside={
        connected.data && (
          <Presence connection={connected.data.connection} enabled={connected.data.enabled} />
        )
      }
      lead={device.tsn}
      backLink={back}
      actions={<PageActions deviceQuery={query} />}
    >
      <div className="sy-columns">
        <div className="sy-column">
          <Connection deviceQuery={connected} />
          <Hardware device={device} />
          <LabelList labels={device.labels} />
          <Claim device={device} />
          <Certificates physicalDeviceId={physicalDeviceId} />
        </div>
        <div className="sy-column">
          <Location deviceQuery={connected} />
          {logicalDeviceId !== undefined && (
            <>
              <PlaceServices logicalDeviceId={logicalDeviceId} />
              <Delivery logicalDeviceId={logicalDeviceId} />
            </>
          )}
        </div>
      </div>
    </Page>
  );
}
