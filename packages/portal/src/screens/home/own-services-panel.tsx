/** The services of this provider with their health. */
import { Link } from '@tanstack/react-router';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Panel } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import { HealthBadge } from '../provider-services/health-badge.tsx';
import { useOwnServices, useServerHealth } from '../provider-services/provider-service-queries.ts';

const displayLimit = 8;

export function OwnServicesPanel() {
  const t = useTranslate('provider-services');
  const { data, error, refetch } = useOwnServices();
  const services = (data?.items ?? []).slice(0, displayLimit);
  const health = useServerHealth(services);
  return (
    <Panel title={t('title')} flush>
      {error !== null && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Loading lines={3} />}
      {data?.items.length === 0 && (
        <EmptyState icon="services" title={t('empty.title')}>
          {t('empty.text')}
        </EmptyState>
      )}
      <ul className="sy-own-list">
        {services.map(({ serviceId, name, domain, status }) => {
          const serverStatus = health.get(serviceId);
          return (
            <li key={serviceId}>
              <Link className="sy-cut" to={`/own-services/${serviceId}`}>
                {name}
              </Link>
              <span className="sy-cut">{domain}</span>
              <span className="sy-own-list-states">
                <StateBadge state="" tone={status === 'Published' ? 'good' : 'plain'}>
                  {t(`states.${status}`)}
                </StateBadge>
                {serverStatus !== undefined && <HealthBadge status={serverStatus} />}
              </span>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}
