/** The page of a logical device: hardware, services and parameters. */
import type { ConnectedDevice, LogicalDevice } from '@switchyard/contract';
import { useQueries } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { DescriptionList, EmptyState, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { EntityName, useEntityName } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { ConnectionBadge } from '../devices/connection-badge.tsx';
import { pollMs } from '../devices/use-live-connections.ts';
import { LabelList, StatusBadge, useCommonDetails } from '../estate/detail-page.tsx';
import { EntityActions } from '../estate/entity-actions.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { useVersionedEntity } from '../estate/estate-data.ts';
import { ServiceOverview, useCanReadConfiguration } from '../estate/service-overview.tsx';
import { LogicalDeviceServices, ParameterDelivery } from './device-services.tsx';

/** A logical device has one or two devices; each is read separately. */
function useHardware(ids: readonly string[]): ConnectedDevice[] {
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ['estate', 'connected', id],
      queryFn: () => api.get<ConnectedDevice>(estateApiUrls.presenceOf(id), { isBackground: true }),
      refetchInterval: pollMs,
    })),
  }).flatMap(({ data }) => (data === undefined ? [] : [data]));
}

function HardwarePanel({ logicalDevice }: { readonly logicalDevice: LogicalDevice }) {
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
              <ConnectionBadge connection={connection} enabled={enabled} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function LogicalDeviceDetails({ logicalDevice }: { readonly logicalDevice: LogicalDevice }) {
  const t = useTranslate('devices');
  const common = useCommonDetails(logicalDevice.logicalDeviceId, logicalDevice);
  const { storeId, merchantId } = logicalDevice;
  return (
    <Panel title={t('place')}>
      <DescriptionList
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

export default function LogicalDevicePage() {
  const t = useTranslate('devices');
  const navigate = useNavigate();
  const logicalDeviceId = usePathParam('logicalDeviceId');
  const address = estateApiUrls.place(logicalDeviceId);
  const query = useVersionedEntity<LogicalDevice>(address);
  const mayWrite = useHasPermission('prov.write');
  const maySeeSettings = useCanReadConfiguration();
  const storeName = useEntityName('stores', query.data?.body.storeId);
  if (query.data === undefined) {
    const storePath = { to: '/devices', label: t('title') };
    return <PendingPage query={query} title={t('place')} backLink={storePath} />;
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
          editTo={`/logical-devices/${logicalDeviceId}/edit`}
          mayWrite={mayWrite}
          onDeleted={() => void navigate({ to: storePath })}
        />
      }
    >
      <div className="sy-columns">
        <div className="sy-column">
          <HardwarePanel logicalDevice={logicalDevice} />
          <LogicalDeviceDetails logicalDevice={logicalDevice} />
          <LabelList labels={logicalDevice.labels} />
          {maySeeSettings && <ServiceOverview level="logical-devices" entityId={logicalDeviceId} />}
        </div>
        <div className="sy-column">
          <LogicalDeviceServices logicalDeviceId={logicalDeviceId} />
          <ParameterDelivery logicalDeviceId={logicalDeviceId} />
        </div>
      </div>
    </Page>
  );
}
