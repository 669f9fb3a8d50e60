/** The service catalogue: what there is, and how each service stands for whoever looks at it. */
import { Button } from '@mantine/core';
import type { Service } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { FilterBar } from '../../filters/filter-bar.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { EmptyState, Loading, Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import { useCan, useSession } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';
import { useOffers, useOwnActivations, useOwnPlaces, useServices } from './read-services.ts';
import { ServiceMark } from './service-mark.tsx';
import {
  type Standing,
  standingAt,
  standingOf,
  standings,
  subscribedIn,
  toneOf,
} from './standing.ts';
import './services.css';

const filterNames = ['text', 'domain', 'standing'] as const;

const none: readonly Service[] = [];
const noOffers = { packages: [], subscriptions: [] };

type Line = { readonly service: Service; readonly standing: Standing };

function useLines() {
  const services = useServices({});
  const offers = useOffers();
  const activations = useOwnActivations();
  const { merchantId } = useSession();
  const items = services.data?.items ?? none;
  const places = useOwnPlaces(items);
  const subscribed = useMemo(() => subscribedIn(offers.data ?? noOffers), [offers.data]);
  const lines = items.map(
    (service): Line => ({
      service,
      standing:
        merchantId === undefined
          ? standingOf(service, activations.data?.items ?? [], subscribed)
          : standingAt(places.get(service.serviceId)),
    }),
  );
  const fault = services.error ?? offers.error ?? activations.error;
  const again = () => {
    for (const each of [services, offers, activations])
      if (each.error !== null) void each.refetch();
  };
  return { lines, fault, again, isLoading: services.isPending, hasMore: services.data?.hasMore };
}

const has = (text: string | undefined, wanted: string) =>
  (text ?? '').toLocaleLowerCase().includes(wanted.toLocaleLowerCase());

export default function Services() {
  const t = useWords('services');
  const mayOffer = useCan('sub.read');
  const { entityType } = useSession();
  const [values, change] = useFilters(filterNames);
  const { lines, fault, again, isLoading, hasMore = false } = useLines();
  const { text = '', domain, standing } = values;
  const shown = lines.filter(
    (line) =>
      (has(line.service.name, text) || has(line.service.description, text)) &&
      (domain === undefined || line.service.domain === domain) &&
      (standing === undefined || line.standing === standing),
  );
  const domains = [...new Set(lines.map(({ service }) => service.domain))].sort();
  const packages = (
    <Button component={Link} to="/service-packages" variant="default">
      {t('packages.title')}
    </Button>
  );
  return (
    <Page
      title={t('title')}
      lead={t('lead')}
      {...(mayOffer && entityType === 'tenant' ? { actions: packages } : {})}
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
            options: standings.map((each) => ({ value: each, label: t(`standings.${each}`) })),
          },
        ]}
        values={values}
        onChange={change}
      />
      {fault !== null && <Problem fault={fault} onRetry={again} />}
      {isLoading && <Loading lines={8} />}
      {!isLoading && shown.length === 0 && fault === null && (
        <Nothing isEmpty={lines.length === 0} />
      )}
      <Cards lines={shown} />
      {hasMore && <p className="sy-services-more">{t('more')}</p>}
    </Page>
  );
}

function Nothing({ isEmpty }: { readonly isEmpty: boolean }) {
  const t = useWords('services');
  return (
    <EmptyState icon="services" title={t(isEmpty ? 'empty.title' : 'none.title')}>
      {t(isEmpty ? 'empty.text' : 'none.text')}
    </EmptyState>
  );
}

function Cards({ lines }: { readonly lines: readonly Line[] }) {
  const t = useWords('services');
  return (
    <ul className="sy-services">
      {lines.map(({ service, standing }) => (
        <li key={service.serviceId} className="sy-service-card">
          <ServiceMark service={service} />
          <div className="sy-service-what">
            <Link className="sy-service-name sy-broken" to={`/services/${service.serviceId}`}>
              {service.name}
            </Link>
            <span className="sy-service-from sy-cut">
              {[service.providerName, service.domain].filter(Boolean).join(' · ')}
            </span>
          </div>
          <StateBadge state="" tone={toneOf[standing]}>
            {t(`standings.${standing}`)}
          </StateBadge>
          <p className="sy-service-text sy-broken">{service.description ?? t('noDescription')}</p>
        </li>
      ))}
    </ul>
  );
}
