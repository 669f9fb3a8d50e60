/** The service catalogue with the status of each service for the user. */
import { Button } from '@mantine/core';
import type { Service } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Page } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { type FilterValues, useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import { ServiceLogo } from './service-logo.tsx';
import {
  useMerchantServicePlaces,
  useOffers,
  useOwnActivations,
  useServices,
} from './service-queries.ts';
import {
  type ServiceStatus,
  serviceStatus,
  serviceStatuses,
  serviceStatusForMerchant,
  statusTones,
  subscribedServiceIds,
} from './service-status.ts';
import './services.css';

const filterNames = ['text', 'domain', 'standing', 'pages'] as const;
/** For a merchant, each service of a page needs one status request. */
const pageSize = 40;

const noServices: readonly Service[] = [];
const noOffers = { packages: [], subscriptions: [] };

type Line = { readonly service: Service; readonly status: ServiceStatus };
type Values = FilterValues<(typeof filterNames)[number]>;

const has = (text: string | undefined, searchText: string) =>
  (text ?? '').toLocaleLowerCase().includes(searchText.toLocaleLowerCase());

function useLines({ text = '', domain, standing: statusFilter, pages }: Values) {
  const services = useServices({});
  const offers = useOffers();
  const activations = useOwnActivations();
  const { merchantId } = useSession();
  const items = services.data?.items ?? noServices;
  const sought = items.filter(
    (service) =>
      (has(service.name, text) || has(service.description, text)) &&
      (domain === undefined || service.domain === domain),
  );
  const most = pageSize * Math.max(1, Math.trunc(Number(pages)) || 1);
  // The status for a merchant is requested only for visible services.
  const lookedAt = merchantId === undefined ? sought : sought.slice(0, most);
  const ownPlaces = useMerchantServicePlaces(lookedAt);
  const subscribed = useMemo(() => subscribedServiceIds(offers.data ?? noOffers), [offers.data]);
  const statusFor = (service: Service): ServiceStatus =>
    merchantId === undefined
      ? serviceStatus(service, activations.data?.items ?? [], subscribed)
      : serviceStatusForMerchant(ownPlaces.get(service.serviceId));
  const matching = lookedAt
    .map((service): Line => ({ service, status: statusFor(service) }))
    .filter((line) => statusFilter === undefined || line.status === statusFilter);
  const fault = services.error ?? offers.error ?? activations.error;
  const retry = () => {
    for (const each of [services, offers, activations])
      if (each.error !== null) void each.refetch();
  };
  return {
    items,
    fault,
    again: retry,
    isLoading: services.isPending,
    hasMore: services.data?.hasMore,
    lines: matching.slice(0, most),
    nextPage:
      Math.max(sought.length - lookedAt.length, matching.length - most) > 0
        ? most / pageSize + 1
        : undefined,
  };
}

export default function Services() {
  const t = useTranslate('services');
  const mayOffer = useHasPermission('sub.read');
  const { entityType } = useSession();
  const [values, change] = useFilters(filterNames);
  const { items, lines, fault, again, isLoading, nextPage, hasMore = false } = useLines(values);
  const domains = [...new Set(items.map(({ domain }) => domain))].sort();
  const packages = (
    <Button component={Link} to="/service-packages" variant="default">
      {t('packages.title')}
    </Button>
  );
  return (
    <Page
      title={t('title')}
      lead={t('lead')}
      actions={mayOffer && entityType === 'tenant' && packages}
    >
      <FilterBar
        fields={[
          { kind: 'search', name: 'text', label: t('search') },
          {
            kind: 'choice',
            name: 'domain',
            label: t('domain'),
            options: domains.map((each) => ({ value: each, label: each })),
          },
          {
            kind: 'choice',
            name: 'standing',
            label: t('standing'),
            options: serviceStatuses.map((each) => ({
              value: each,
              label: t(`standings.${each}`),
            })),
          },
        ]}
        values={values}
        onChange={(next) => change({ ...next, pages: '' })}
      />
      {fault !== null && <ErrorMessage fault={fault} onRetry={again} />}
      {isLoading && <Loading lines={8} />}
      {!isLoading && lines.length === 0 && fault === null && (
        <Nothing isEmpty={items.length === 0} />
      )}
      <Cards lines={lines} />
      {nextPage !== undefined && (
        <Button
          className="sy-services-next"
          variant="default"
          onClick={() => change({ pages: String(nextPage) })}
        >
          {t('next')}
        </Button>
      )}
      {nextPage === undefined && hasMore && <p className="sy-services-more">{t('more')}</p>}
    </Page>
  );
}

function Nothing({ isEmpty }: { readonly isEmpty: boolean }) {
  const t = useTranslate('services');
  return (
    <EmptyState icon="services" title={t(isEmpty ? 'empty.title' : 'none.title')}>
      {t(isEmpty ? 'empty.text' : 'none.text')}
    </EmptyState>
  );
}

function Cards({ lines }: { readonly lines: readonly Line[] }) {
  const t = useTranslate('services');
  return (
    <ul className="sy-services">
      {lines.map(({ service, status }) => (
        <li key={service.serviceId} className="sy-service-card">
          <ServiceLogo service={service} />
          <div className="sy-service-what">
            <Link className="sy-service-name sy-broken" to={`/services/${service.serviceId}`}>
              {service.name}
            </Link>
            <span className="sy-service-from sy-cut">
              {[service.providerName, service.domain].filter(Boolean).join(' · ')}
            </span>
          </div>
          <StateBadge state="" tone={statusTones[status]}>
            {t(`standings.${status}`)}
          </StateBadge>
          <p className="sy-service-text sy-broken">{service.description ?? t('noDescription')}</p>
        </li>
      ))}
    </ul>
  );
}
