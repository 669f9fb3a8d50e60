/** One piece of hardware: whether it is connected, where it stands, what it runs, and what it proves itself with. */
import { Button } from '@mantine/core';
import type { ConnectedDevice, PhysicalDevice } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useParam } from '../../app/use-param.ts';
import { EntityName } from '../../parts/entity-name.tsx';
import { Icon } from '../../parts/icons.tsx';
import { Facts, Loading, Page, Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Time } from '../../parts/values.tsx';
import { useCan } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';
import { EntityActions } from '../estate/entity-actions.tsx';
import { addresses } from '../estate/kinds.ts';
import { LabelList, PageInWait, useCommonFacts } from '../estate/page-parts.tsx';
import { useVersioned } from '../estate/versioned.ts';
import { Certificates } from './certificates.tsx';
import { Claim } from './claim.tsx';
import { MoveDialogue } from './move-dialogue.tsx';
import { Delivery, PlaceServices } from './place-services.tsx';
import { Presence } from './presence.tsx';
import { askAgainMs } from './use-live.ts';
import './fleet.css';

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

function Connection({ of: { data, error, refetch } }: { readonly of: Connected }) {
  const t = useWords('fleet');
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

function Standing({ of }: { readonly of: Connected }) {
  const t = useWords('fleet');
  const { name, deviceId, storeId, merchantId } = of.data ?? {};
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

function Hardware({ of }: { readonly of: PhysicalDevice }) {
  const t = useWords('fleet');
  const common = useCommonFacts(of.physicalDeviceId, of);
  return (
    <Panel title={t('hardware')}>
      <Facts
        items={[
          [t('serialNumber'), of.serialNumber],
          [t('model'), `${of.make} ${of.model}`],
          [t('family'), of.family],
          [t('tsn'), of.tsn],
          ...common,
        ]}
      />
    </Panel>
  );
}

function PageActions({ of }: { readonly of: ReturnType<typeof useVersioned<PhysicalDevice>> }) {
  const t = useWords('fleet');
  const navigate = useNavigate();
  const mayWrite = useCan('prov.write');
  const [isMoving, setMoving] = useState(false);
  if (of.data === undefined) return null;
  const { physicalDeviceId } = of.data.body;
  return (
    <>
      <EntityActions
        kind="device"
        address={addresses.device(physicalDeviceId)}
        of={of.data}
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
      {isMoving && <MoveDialogue of={of.data.body} onClose={() => setMoving(false)} />}
    </>
  );
}

export default function DevicePage() {
  const t = useWords('fleet');
  const physicalDeviceId = useParam('physicalDeviceId');
  const query = useVersioned<PhysicalDevice>(addresses.device(physicalDeviceId));
  const connected = useConnected(physicalDeviceId);
  const back = { to: '/devices', label: t('title') };
  if (query.data === undefined) return <PageInWait of={query} title={t('one')} back={back} />;
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
      back={back}
      actions={<PageActions of={query} />}
    >
      <div className="sy-columns">
        <div className="sy-column">
          <Connection of={connected} />
          <Hardware of={device} />
          <LabelList labels={device.labels} />
          <Claim of={device} />
          <Certificates physicalDeviceId={physicalDeviceId} />
        </div>
        <div className="sy-column">
          <Standing of={connected} />
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
