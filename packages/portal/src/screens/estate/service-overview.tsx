/**
 * Lists the services of a merchant, a store or a logical device with their activation and
 * configuration status.
 */
import type { ConfigurableService, ServiceActivation } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { EmptyState, Panel } from '../../components/layout/page.tsx';
import { QueryContent } from '../../components/layout/query-content.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import './estate.css';

export type SettingsLevel = 'merchants' | 'stores' | 'logical-devices';
const levelNames = {
  merchants: 'Merchant',
  stores: 'Store',
  'logical-devices': 'LogicalDevice',
} as const;
const displayLimit = 200;

type Read = {
  readonly services: readonly ConfigurableService[];
  readonly activations: ReadonlyMap<string, ServiceActivation>;
};

async function read(level: SettingsLevel, entityId: string, signal: AbortSignal): Promise<Read> {
  const [services, activations] = await Promise.all([
    api.get<{ items: ConfigurableService[] }>(`/configuration/v1/${level}/${entityId}/services`, {
      query: { limit: displayLimit },
      signal,
    }),
    api.get<{ items: ServiceActivation[] }>('/service-catalog/v1/activations', {
      query: { level: levelNames[level], entityId, limit: displayLimit },
      signal,
    }),
  ]);
  return {
    services: services.items,
    activations: new Map(activations.items.map((each) => [each.serviceId, each])),
  };
}

export function useCanReadConfiguration(): boolean {
  return useHasPermission('conf.read');
}

export function ServiceOverview({
  level,
  entityId,
}: {
  readonly level: SettingsLevel;
  readonly entityId: string;
}) {
  const t = useTranslate('estate');
  const query = useQuery({
    queryKey: ['estate', 'settings', level, entityId],
    queryFn: ({ signal }) => read(level, entityId, signal),
  });
  return (
    <Panel title={t('settings.title')} flush>
      <QueryContent query={query} lines={4}>
        {({ services, activations }) =>
          services.length === 0 ? (
            <EmptyState icon="configuration" title={t('settings.noneTitle')}>
              {t('settings.noneText')}
            </EmptyState>
          ) : (
            <ul className="sy-plain-list">
              {services.map((service) => (
                <ServiceLine
                  key={service.serviceId}
                  service={service}
                  activation={activations.get(service.serviceId)}
                  search={{ level, entityId, serviceId: service.serviceId }}
                />
              ))}
            </ul>
          )
        }
      </QueryContent>
    </Panel>
  );
}

function ServiceLine({
  service,
  activation,
  search,
}: {
  readonly service: ConfigurableService;
  readonly activation: ServiceActivation | undefined;
  readonly search: Readonly<Record<string, string>>;
}) {
  const t = useTranslate('estate');
  return (
    <li>
      <div>
        <Link className="sy-link sy-broken" to="/configuration" search={search as never}>
          {service.name}
        </Link>
        <small>
          {service.domain} · {t(service.isSet ? 'settings.own' : 'settings.inherited')}
          {service.updatedAt !== undefined && (
            <>
              {' · '}
              <DateTime at={service.updatedAt} />
            </>
          )}
        </small>
      </div>
      {activation !== undefined && (
        <StateBadge state={activation.status}>{t(`activations.${activation.status}`)}</StateBadge>
      )}
    </li>
  );
}
