/** The home screen: checklist, payments of today and links. */

import { currentPortal } from '../../app/current-portal.ts';
import { KeyFigures } from '../../charts/key-figures.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Loading, Page, Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { nowMs } from '../../session/clock.ts';
import { useFormats, useHasPermission, useSession } from '../../session/use-session.ts';
import { majorAmountOf, useSummary } from '../analytics/read-summary.ts';
import { TourOffer } from '../tour/tour-offer.tsx';
import { FirstPaymentChecklist } from './first-payment-checklist.tsx';
import { LatestPayments } from './latest-payments.tsx';
import { OwnServicesPanel } from './own-services-panel.tsx';
import { ProviderChecklist } from './provider-checklist.tsx';
import { ScreenLinks } from './screen-links.tsx';
import './home.css';

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
            value: formats.money(majorAmountOf(total, currency, 'net'), currency),
          })),
        ]}
      />
    </section>
  );
}
