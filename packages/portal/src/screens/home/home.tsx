/** The first screen after the sign-in: what is lacking until the first payment, and how today goes. */

import { entry } from '../../app/current-portal.ts';
import { Figures } from '../../charts/key-figures.tsx';
import { Problem } from '../../components/layout/error-message.tsx';
import { Loading, Page, Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { nowMs } from '../../session/clock.ts';
import { useCan, useFormats, useSession } from '../../session/use-session.ts';
import { amountOf, useSummary } from '../analytics/read-summary.ts';
import { TourOffer } from '../tour/tour-offer.tsx';
import { Checklist } from './first-payment-checklist.tsx';
import { Recent } from './latest-payments.tsx';
import { OwnServices } from './own-services-panel.tsx';
import { ProviderStart } from './provider-checklist.tsx';
import { Ways } from './screen-links.tsx';
import './home.css';

export default function Home() {
  const t = useTranslate('home');
  const { user, organizationName, merchantName } = useSession();
  const mayReport = useCan('rep.read') && entry === 'portal';
  const provides = useCan('svc.read') && entry === 'provider-portal';
  const name = user.givenName ?? (user.name === '' ? user.username : user.name);
  return (
    <Page title={t('title', { name })} lead={merchantName ?? organizationName}>
      <TourOffer />
      {provides && <ProviderStart />}
      {mayReport && <Checklist />}
      {mayReport && <Today />}
      <div className="sy-home">
        {mayReport && (
          <Panel title={t('recent')} flush>
            <Recent />
          </Panel>
        )}
        {provides && <OwnServices />}
        <Panel title={t('ways')}>
          <Ways />
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
  if (error !== null) return <Problem fault={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading lines={2} />;
  const { total } = data;
  const currencies = total.amounts.slice(0, 3).map(({ currency }) => currency);
  return (
    <section aria-label={t('today')}>
      <Figures
        items={[
          { label: t('paymentsToday'), value: formats.number(total.count) },
          {
            label: t('approvalRate'),
            value: total.approvalRate === null ? '–' : formats.percent(total.approvalRate),
          },
          ...currencies.map((currency) => ({
            label: t('netToday', { currency }),
            value: formats.money(amountOf(total, currency, 'net'), currency),
          })),
        ]}
      />
    </section>
  );
}
