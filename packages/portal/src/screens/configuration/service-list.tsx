/** The list of configurable services at a level. */
import type { ConfigurableService } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Panel } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { type ConfigurationScope, servicesApiUrl } from './configuration-levels.ts';

const servicesMost = 200;

export function ServiceList({ scope }: { readonly scope: ConfigurationScope }) {
  const t = useTranslate('configuration');
  const { data, error, refetch } = useQuery({
    queryKey: ['configurable', scope.level, scope.entityId],
    queryFn: ({ signal }) =>
      api.get<{ items: ConfigurableService[] }>(servicesApiUrl(scope), {
        query: { limit: servicesMost },
        signal,
      }),
  });
  if (error !== null) return <ErrorMessage fault={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading lines={6} />;
  if (data.items.length === 0) {
    return (
      <EmptyState icon="configuration" title={t('none.title')}>
        {t('none.text')}
      </EmptyState>
    );
  }
  return (
    <Panel title={t('services')} flush>
      <ul className="sy-conf-services">
        {data.items.map((service) => (
          <ServiceLine key={service.serviceId} service={service} scope={scope} />
        ))}
      </ul>
    </Panel>
  );
}

function ServiceLine({
  service: { serviceId, name, domain, isSet, version, updatedAt },
  scope,
}: {
  readonly service: ConfigurableService;
  readonly scope: ConfigurationScope;
}) {
  const t = useTranslate('configuration');
  return (
    <li>
      <Link to="/configuration" search={{ ...scope, serviceId } as never}>
        <span className="sy-conf-service">
          <TruncatedName>{name}</TruncatedName>
          <small>{domain}</small>
        </span>
        <StateBadge state="" tone={isSet ? 'busy' : 'plain'}>
          {isSet ? t('setHere') : t('inherited')}
        </StateBadge>
        <span className="sy-conf-when">
          {version > 0 && t('versionNumber', { version })} <DateTime at={updatedAt} />
        </span>
      </Link>
    </li>
  );
}
