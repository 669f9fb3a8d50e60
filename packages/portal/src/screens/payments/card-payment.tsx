/** The page content of a card payment. */

import { defined, type TransactionWithEvents } from '@switchyard/contract';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { DescriptionList, Page, Panel } from '../../components/layout/page.tsx';
import { copyItem, nameItem, timeItem } from '../../components/values/description-items.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';
import { AmountBar } from './amount-bar.tsx';
import { CardActions } from './card-actions.tsx';
import { OperationList } from './operation-list.tsx';
import { PaymentMethod } from './payment-method.tsx';
import { Receipt } from './receipt.tsx';
import { Timeline } from './timeline.tsx';

export function CardPayment({
  payment,
  backLink,
  fault,
}: {
  readonly payment: TransactionWithEvents;
  readonly backLink: { readonly to: string; readonly label: string };
  readonly fault: unknown;
}) {
  const t = useTranslate('payments');
  const formats = useFormats();
  const { amount, currency, state, clientTransactionId, events, operations, receipt } = payment;
  return (
    <Page
      title={formats.money(amount, currency)}
      aside={<StateBadge state={state}>{t(`states.${state}`)}</StateBadge>}
      lead={clientTransactionId}
      backLink={backLink}
    >
      {fault !== null && <ErrorMessage fault={fault} />}
      <div className="sy-payment">
        <div className="sy-payment-main">
          <Panel title={t('amounts.title')}>
            <AmountBar amounts={payment} currency={currency} />
          </Panel>
          <CardActions payment={payment} />
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
            <CardFacts payment={payment} />
          </Panel>
          {receipt !== undefined && (
            <Panel title={t('receipt.title')}>
              <Receipt receipt={receipt} />
            </Panel>
          )}
        </div>
      </div>
    </Page>
  );
}

function CardFacts({ payment }: { readonly payment: TransactionWithEvents }) {
  const t = useTranslate('payments');
  const { card, response, addressVerification: avs, order, offlineData, confirmBy } = payment;
  const paidWith = {
    kind: 'Card',
    ...defined({ scheme: card?.scheme, maskedNumber: card?.maskedNumber }),
  } as const;
  return (
    <DescriptionList
      items={[
        timeItem(t('created'), payment.createdAt),
        [t('paidWith'), <PaymentMethod key="with" payment={paidWith} />],
        [t('facts.entryMode'), t(`entryModes.${payment.entryMode}`)],
        [
          t('facts.response'),
          response && [response.reason ?? response.category, response.code].join(' · '),
        ],
        [t('facts.authorizationCode'), payment.authorizationCode],
        [t('facts.captureMode'), t(`captureModes.${payment.captureMode}`)],
        nameItem(t('merchant'), 'merchants', payment.merchantId),
        nameItem(t('store'), 'stores', payment.storeId),
        nameItem(t('device'), 'logical-devices', payment.deviceId),
        [t('facts.order'), order?.orderId],
        [t('facts.avs'), avs && `${avs.street} · ${avs.postal}`],
        timeItem(t('facts.offline'), offlineData?.authorizedAt),
        timeItem(t('facts.confirmBy'), confirmBy, true),
        [t('facts.rrn'), payment.retrievalReferenceNumber],
        [t('facts.stan'), payment.systemTraceAuditNumber],
        copyItem(t('facts.id'), payment.transactionId),
        copyItem(t('reference'), payment.clientTransactionId),
        copyItem(t('facts.token'), card?.token),
      ]}
    />
  );
}
