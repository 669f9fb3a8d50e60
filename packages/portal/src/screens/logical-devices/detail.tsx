/** One place of a store: the hardware that fills it, the services that run there, and their parameters. */
import type { ConnectedDevice, LogicalDevice } from '@switchyard/contract';
import { useQueries } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { useParam } from '../../app/url-params.ts';
import { EmptyState, Facts, Page, Panel } from '../../components/layout/page.tsx';
import { EntityName, useEntityName } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import { Presence } from '../devices/connection-badge.tsx';
import { askAgainMs } from '../devices/use-live-connections.ts';
import { LabelList, PageInWait, StatusBadge, useCommonFacts } from '../estate/detail-page.tsx';
import { EntityActions } from '../estate/entity-actions.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { ServiceSettings, useMaySeeSettings } from '../estate/service-overview.tsx';
import { useVersioned } from '../estate/versioned-entities.ts';
import { Delivery, PlaceServices } from './device-services.tsx';

/** One or two: each is asked for alone. */
function useHardware(ids: readonly string[]): ConnectedDevice[] {
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ['estate', 'connected', id],
      queryFn: () => api.get<ConnectedDevice>(addresses.presenceOf(id), { isBackground: true }),
      refetchInterval: askAgainMs,
    })),
  }).flatMap(({ data }) => (data === undefined ? [] : [data]));
}

function PlaceHardware({ logicalDevice }: { readonly logicalDevice: LogicalDevice }) {
  const t = useTranslate('devices');
  const devices = useHardware(logicalDevice.physicalDeviceIds);
  return (
    <Panel title={t('hardware')} flush>
      {logicalDevice.physicalDeviceIds.length === 0 && (
        <EmptyState icon="device" title={t('noHardware.title')}>
          {t('noHardware.text')}
        </EmptyState>
      )}
      {devices.length > 0 && (
        <ul className="sy-plain-list">
          {devices.map(({ physicalDeviceId, tsn, connection, enabled }) => (
            <li key={physicalDeviceId}>
              <Link className="sy-link sy-broken" to={`/devices/${physicalDeviceId}`}>
                {tsn}
              </Link>
              <Presence connection={connection} enabled={enabled} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function PlaceFacts({ logicalDevice }: { readonly logicalDevice: LogicalDevice }) {
  const t = useTranslate('devices');
  const common = useCommonFacts(logicalDevice.logicalDeviceId, logicalDevice);
  const { storeId, merchantId } = logicalDevice;
  return (
    <Panel title={t('place')}>
      <Facts
        items={[
          [
            t('store'),
            <Link key="store" className="sy-link" to={`/stores/${storeId}`}>
              <EntityName kind="stores" id={storeId} />
            </Link>,
          ],
          [
            t('merchant'),
            <Link key="merchant" className="sy-link" to={`/merchants/${merchantId}`}>
              <EntityName kind="merchants" id={merchantId} />
            </Link>,
          ],
          ...common,
        ]}
      />
    </Panel>
  );
}

export default function PlacePage() {
  const t = useTranslate('devices');
  const navigate = useNavigate();
  const logicalDeviceId = useParam('logicalDeviceId');
  const address = addresses.place(logicalDeviceId);
  const query = useVersioned<LogicalDevice>(address);
  const mayWrite = useCan('prov.write');
  const maySeeSettings = useMaySeeSettings();
  const storeName = useEntityName('stores', query.data?.body.storeId);
  if (query.data === undefined) {
    const storePath = { to: '/devices', label: t('title') };
    return <PageInWait query={query} title={t('place')} backLink={storePath} />;
  }
  const logicalDevice = query.data.body;
  const storePath = `/stores/${logicalDevice.storeId}`;
  return (
    <Page
      title={logicalDevice.name}
      aside={<StatusBadge status={logicalDevice.status} />}
      backLink={{ to: storePath, label: storeName ?? t('store') }}
      actions={
        <EntityActions
          kind="place"
          address={address}
          versioned={query.data}
          editTo={`/places/${logicalDeviceId}/edit`}
          mayWrite={mayWrite}
          onDeleted={() => void navigate({ to: storePath })}
        />
      }
    >
      <div className="sy-columns">
        <div className="sy-column">
          <PlaceHardware logicalDevice={logicalDevice} />
          <PlaceFacts logicalDevice={logicalDevice} />
          <LabelList labels={logicalDevice.labels} />
          {maySeeSettings && <ServiceSettings level="logical-devices" entityId={logicalDeviceId} />}
        </div>
        <div className="sy-column">
          <PlaceServices logicalDeviceId={logicalDeviceId} />
          <Delivery logicalDeviceId={logicalDeviceId} />
        </div>
      </div>
    </Page>
  );
}
