/** The active services of a logical device, and the delivery status of its parameters. */

import type { DeviceDelivery, DeviceServiceList } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { DescriptionList, EmptyState, Panel } from '../../components/layout/page.tsx';
import { QueryContent } from '../../components/layout/query-content.tsx';
import { StateBadge, type Tone } from '../../components/values/state-badge.tsx';
import { DateTime } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import '../devices/devices.css';

const deliveryTones: Readonly<Record<string, Tone>> = {
  Applied: 'good',
  Pending: 'busy',
  Failed: 'bad',
  Held: 'warn',
};

export function LogicalDeviceServices({ logicalDeviceId }: { readonly logicalDeviceId: string }) {
  const t = useTranslate('devices');
  const maySee = useHasPermission('sub.read', 'conf.read');
  const address = `/service-catalog/v1/logical-devices/${logicalDeviceId}/services`;
  const query = useQuery({
    queryKey: ['estate', address],
    queryFn: ({ signal }) => api.get<DeviceServiceList>(address, { signal }),
    enabled: maySee,
  });
  if (!maySee) return null;
  return (
    <Panel title={t('services.title')} flush>
      <QueryContent query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon="services" title={t('services.noneTitle')}>
              {t('services.noneText')}
            </EmptyState>
          ) : (
            <ul className="sy-plain-list">
              {items.map(({ serviceId, name, domain, active, levels }) => (
                <li key={serviceId}>
                  <div>
                    <span className="sy-broken">{name}</span>
                    <small>
                      {domain}
                      {!active && ` · ${t('services.heldAt', { level: heldAt(levels, t) })}`}
                    </small>
                  </div>
                  <StateBadge state="" tone={active ? 'good' : 'plain'}>
                    {t(active ? 'services.active' : 'services.inactive')}
                  </StateBadge>
                </li>
              ))}
            </ul>
          )
        }
      </QueryContent>
    </Panel>
  );
}

type Levels = DeviceServiceList['items'][number]['levels'];

/** The highest level that deactivates the service. */
function heldAt(levels: Levels, t: (key: string) => string): string {
  const level = levels.find(({ active }) => !active)?.level ?? 'LogicalDevice';
  return t(`levels.${level}`);
}

export function ParameterDelivery({ logicalDeviceId }: { readonly logicalDeviceId: string }) {
  const t = useTranslate('devices');
  const maySee = useHasPermission('conf.read');
  const address = `/configuration/v1/logical-devices/${logicalDeviceId}/delivery`;
  const query = useQuery({
    queryKey: ['estate', address],
    queryFn: ({ signal }) => api.get<DeviceDelivery>(address, { signal }),
    enabled: maySee,
  });
  if (!maySee) return null;
  const status = query.data?.status;
  return (
    <Panel
      title={t('delivery.title')}
      actions={
        status && (
          <StateBadge state="" tone={deliveryTones[status] ?? 'plain'}>
            {t(`delivery.states.${status}`)}
          </StateBadge>
        )
      }
    >
      <QueryContent query={query}>{(data) => <Delivery data={data} />}</QueryContent>
    </Panel>
  );
}

function Delivery({ data }: { readonly data: DeviceDelivery }) {
  const t = useTranslate('devices');
  return (
    <>
      <DescriptionList
        items={[
          [t('delivery.requested'), <DateTime key="requested" at={data.requestedAt} />],
          [t('delivery.notified'), <DateTime key="notified" at={data.sentAt} />],
          [t('delivery.applied'), <DateTime key="applied" at={data.appliedAt} />],
          [t('delivery.failure'), data.failure?.reason],
        ]}
      />
      {data.services.length > 0 && (
        <ul className="sy-plain-list sy-delivery">
          {data.services.map(({ serviceId, name, status }) => (
            <li key={serviceId}>
              <span className="sy-broken">{name}</span>
              <StateBadge state="" tone={deliveryTones[status] ?? 'plain'}>
                {t(`delivery.states.${status}`)}
              </StateBadge>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
