/** A QR payment, whole. */
import type { QrTransactionWithEvents } from '@switchyard/contract';
import { Problem } from '../../components/layout/error-message.tsx';
import { Facts, Page, Panel } from '../../components/layout/page.tsx';
import { CopyText } from '../../components/values/copy-text.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { Time } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { AmountBar } from './amount-bar.tsx';
import { Operations } from './operation-list.tsx';
import { PaidWith } from './payment-method.tsx';
import { QrActions } from './qr-actions.tsx';
import { Timeline } from './timeline.tsx';

export function QrPayment({
  payment,
  backLink,
  fault,
}: {
  readonly payment: QrTransactionWithEvents;
  readonly backLink: { readonly to: string; readonly label: string };
  readonly fault: unknown;
}) {
  const t = useTranslate('payments');
  const formats = useFormats();
  const { paymentAmount, status, clientTransactionId, events, operations, hold } = payment;
  const { amount, currency } = paymentAmount;
  const amounts = {
    amount,
    authorizedAmount: status === 'Authorized' ? amount : payment.paidAmount,
    capturedAmount: payment.paidAmount,
    cancelledAmount: 0,
    refundedAmount: payment.refundedAmount,
  };
  return (
    <Page
      title={formats.money(amount, currency)}
      aside={
        <>
          <StateBadge state={status}>{t(`states.${status}`)}</StateBadge>
          {hold !== undefined && <StateBadge state="Held">{t(`holds.${hold.reason}`)}</StateBadge>}
        </>
      }
      lead={clientTransactionId}
      backLink={backLink}
    >
      {fault !== null && <Problem fault={fault} />}
      <div className="sy-payment">
        <div className="sy-payment-main">
          <Panel title={t('amounts.title')}>
            <AmountBar amounts={amounts} currency={currency} />
          </Panel>
          <QrActions payment={payment} />
          {operations.length > 0 && (
            <Panel title={t('operations.title')} flush>
              <Operations operations={operations} />
            </Panel>
          )}
          <Panel title={t('timeline.title')}>
            <Timeline events={events} currency={currency} />
          </Panel>
        </div>
        <div className="sy-payment-side">
          <Panel title={t('facts.title')}>
            <QrFacts payment={payment} />
          </Panel>
        </div>
      </div>
    </Page>
  );
}

function QrFacts({ payment }: { readonly payment: QrTransactionWithEvents }) {
  const t = useTranslate('payments');
  const { transactionId, clientTransactionId, failure, payer, providerTransactionId } = payment;
  return (
    <Facts
      items={[
        [t('created'), <Time key="at" at={payment.createdAt} />],
        [
          t('paidWith'),
          <PaidWith key="with" payment={{ kind: 'Qr', scheme: payment.paymentType }} />,
        ],
        [t('facts.scenario'), t(`scenarios.${payment.effectiveScenario}`)],
        [t('facts.expires'), <Time key="expires" at={payment.expiresAt} exact />],
        [t('facts.failure'), failure && Object.values(failure).join(' · ')],
        [t('facts.payer'), payer && Object.values(payer).join(' · ')],
        [t('merchant'), <EntityName key="merchant" kind="merchants" id={payment.merchantId} />],
        [t('store'), <EntityName key="store" kind="stores" id={payment.storeId} />],
        [t('device'), <EntityName key="device" kind="logical-devices" id={payment.deviceId} />],
        [t('facts.order'), payment.order?.orderId],
        [t('facts.provider'), providerTransactionId],
        [t('facts.id'), <CopyText key="id" text={transactionId} label={t('facts.id')} />],
        [t('reference'), <CopyText key="ref" text={clientTransactionId} label={t('reference')} />],
      ]}
    />
  );
}
