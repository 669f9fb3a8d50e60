/** The home screen: checklist, payments of today and links. */
import './home.css';
import type { ReportedPayment } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { currentPortal } from '../../app/current-portal.ts';
import { useScreens } from '../../app/use-screens.ts';
import { KeyFigures } from '../../charts/key-figures.tsx';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, Money } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { navigationFor } from '../../navigation.ts';
import { nowMs } from '../../session/clock.ts';
import { useFormats, useHasPermission, useSession } from '../../session/use-session.ts';
import { minorAmountOf, useSummary } from '../analytics/read-summary.ts';
import { PaymentMethod } from '../payments/payment-method.tsx';
import { HealthBadge } from '../provider-services/health-badge.tsx';
import { useOwnServices, useServerHealth } from '../provider-services/provider-service-queries.ts';
import { TourOffer } from '../tour/tour-offer.tsx';
import { FirstPaymentChecklist, ProviderChecklist } from './checklists.tsx';

/** The links, services and payments that the page shows. */
const displayLimit = 8;

export default function Home() {
  const t = useTranslate('home');
  const { user, organizationName, merchantName } = useSession();
  const mayReport = useHasPermission('rep.read') && currentPortal === 'portal';
  const provides = useHasPermission('svc.read') && currentPortal === 'provider-portal';
  const name = user.givenName ?? (user.name === '' ? user.username : user.name);
  return (
    <Page title={t('title', { name })} lead={merchantName ?? organizationName}>
      <TourOffer />
      {provides && <ProviderChecklist />}
      {mayReport && <FirstPaymentChecklist />}
      {mayReport && <Today />}
      <div className="sy-home">
        {mayReport && (
          <Panel title={t('recent')} flush>
            <LatestPayments />
          </Panel>
        )}
        {provides && <OwnServicesPanel />}
        <Panel title={t('ways')}>
          <ScreenLinks />
        </Panel>
      </div>
    </Page>
  );
}

function Today() {
  const t = useTranslate('home');
  const formats = useFormats();
  const today = formats.dayOf(nowMs());
  const { data, error, refetch } = useSummary({ from: today, to: today, groupBy: 'hour' });
  if (error !== null) return <ErrorMessage fault={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading lines={2} />;
  const { total } = data;
  const currencies = total.amounts.slice(0, 3).map(({ currency }) => currency);
  return (
    <section aria-label={t('today')}>
      <KeyFigures
        items={[
          { label: t('paymentsToday'), value: formats.number(total.count) },
          {
            label: t('approvalRate'),
            value: total.approvalRate === null ? '–' : formats.percent(total.approvalRate),
          },
          ...currencies.map((currency) => ({
            label: t('netToday', { currency }),
            value: formats.money(minorAmountOf(total, currency, 'net'), currency),
          })),
        ]}
      />
    </section>
  );
}

function ScreenLinks() {
  const names = useTranslate('navigation');
  const session = useSession();
  const items = navigationFor(useScreens(), session, currentPortal)
    .flatMap((section) => section.items)
    .filter(({ to }) => to !== '/')
    // The sidebar contains all screens.
    .slice(0, displayLimit);
  return (
    <ul className="sy-ways">
      {items.map(({ to, labelKey, icon }) => (
        <li key={to}>
          <Link to={to}>
            <Icon name={icon} size={18} />
            <span className="sy-cut">{names(`items.${labelKey}`)}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function OwnServicesPanel() {
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

function LatestPayments() {
  const t = useTranslate('home');
  const words = useTranslate('payments');
  const { data, error, refetch } = useQuery({
    queryKey: ['recent'],
    queryFn: () =>
      api.get<{ items: ReportedPayment[] }>('/reporting/v1/transactions', {
        query: { limit: displayLimit },
      }),
  });
  if (error !== null) return <ErrorMessage fault={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data.items.length === 0) {
    return (
      <EmptyState icon="payments" title={words('empty.title')}>
        {words('empty.text')}
      </EmptyState>
    );
  }
  return (
    <>
      <ul className="sy-recent">
        {data.items.map((payment) => (
          <li key={payment.transactionId}>
            <Link to={`/payments/${payment.transactionId}`}>
              <PaymentMethod payment={payment} />
            </Link>
            <span className="sy-recent-time">
              <DateTime at={payment.createdAt} />
            </span>
            <StateBadge state={payment.state}>{words(`states.${payment.state}`)}</StateBadge>
            <strong>
              <Money amount={payment.amount} currency={payment.currency} />
            </strong>
          </li>
        ))}
      </ul>
      <p className="sy-recent-all">
        <Link to="/payments">{t('all')}</Link>
      </p>
    </>
  );
}
