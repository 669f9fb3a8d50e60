/** The list of the provider's own services. */
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Page } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { ServiceLogo } from '../services/service-logo.tsx';
import { HealthBadge } from './health-badge.tsx';
import { useOwnServices, useServerHealth } from './provider-service-queries.ts';
import '../services/services.css';
import './provider-services.css';

const tones = { Draft: 'plain', Published: 'good', Retired: 'plain' } as const;

export default function OwnServices() {
  const t = useTranslate('provider-services');
  const mayDeclare = useHasPermission('svc.write');
  const { data, error, isPending, refetch } = useOwnServices();
  const services = data?.items ?? [];
  const health = useServerHealth(services);
  const declare = (
    <Button component={Link} to="/own-services/new" leftSection={<Icon name="plus" size={16} />}>
      {t('declare')}
    </Button>
  );
  return (
    <Page title={t('title')} lead={t('lead')} actions={mayDeclare && declare}>
      {error !== null && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
      {isPending && error === null && <Loading lines={8} />}
      {data !== undefined && services.length === 0 && (
        <EmptyState icon="services" title={t('empty.title')} action={mayDeclare && declare}>
          {t('empty.text')}
        </EmptyState>
      )}
      <ul className="sy-services">
        {services.map((service) => {
          const { serviceId, name, domain, description, status, unpublishedChanges } = service;
          const serverStatus = health.get(serviceId);
          return (
            <li key={serviceId} className="sy-service-card">
              <ServiceLogo service={service} />
              <div className="sy-service-what">
                <Link className="sy-service-name sy-broken" to={`/own-services/${serviceId}`}>
                  {name}
                </Link>
                <span className="sy-service-from sy-cut">{domain}</span>
              </div>
              <div className="sy-own-badges">
                <StateBadge state="" tone={tones[status]}>
                  {t(`states.${status}`)}
                </StateBadge>
                {status === 'Published' && unpublishedChanges === true && (
                  <StateBadge state="" tone="warn">
                    {t('changed')}
                  </StateBadge>
                )}
                {serverStatus !== undefined && <HealthBadge status={serverStatus} />}
              </div>
              <p className="sy-service-text sy-broken">{description ?? t('noDescription')}</p>
            </li>
          );
        })}
      </ul>
    </Page>
  );
}
