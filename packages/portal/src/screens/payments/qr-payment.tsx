/** The page content of a QR payment. */
import type { QrTransactionWithEvents } from '@switchyard/contract';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { DescriptionList, Page, Panel } from '../../components/layout/page.tsx';
import { copyItem, nameItem, timeItem } from '../../components/values/description-items.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { AmountBar } from './amount-bar.tsx';
import { OperationList } from './operation-list.tsx';
import { PaymentMethod } from './payment-method.tsx';
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
      {fault !== null && <ErrorMessage fault={fault} />}
      <div className="sy-payment">
        <div className="sy-payment-main">
          <Panel title={t('amounts.title')}>
            <AmountBar amounts={amounts} currency={currency} />
          </Panel>
          <QrActions payment={payment} />
          {operations.length > 0 && (
            <Panel title={t('operations.title')} flush>
              <OperationList operations={operations} />
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
    <DescriptionList
      items={[
        timeItem(t('created'), payment.createdAt),
        [
          t('paidWith'),
          <PaymentMethod key="with" payment={{ kind: 'Qr', scheme: payment.paymentType }} />,
        ],
        [t('facts.scenario'), t(`scenarios.${payment.effectiveScenario}`)],
        timeItem(t('facts.expires'), payment.expiresAt, true),
        [t('facts.failure'), failure && Object.values(failure).join(' · ')],
        [t('facts.payer'), payer && Object.values(payer).join(' · ')],
        nameItem(t('merchant'), 'merchants', payment.merchantId),
        nameItem(t('store'), 'stores', payment.storeId),
        nameItem(t('device'), 'logical-devices', payment.deviceId),
        [t('facts.order'), payment.order?.orderId],
        [t('facts.provider'), providerTransactionId],
        copyItem(t('facts.id'), transactionId),
        copyItem(t('reference'), clientTransactionId),
      ]}
    />
  );
}
