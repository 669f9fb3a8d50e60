/** What may be done with a QR payment now: cancel it, give money back, or decide what is held. */

import {
  defined,
  type QrOperationAnswer,
  type QrTransactionWithEvents,
} from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { Panel } from '../../components/layout/page.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import { forgetLists } from '../../table/row-store-cache.ts';
import { AmountAction, type AmountChange } from './amount-dialog.tsx';
import { OfferLine } from './card-actions.tsx';
import { paymentKey } from './payment-queries.ts';
import { QrResolve } from './qr-hold-decision.tsx';

const openStates = ['Created', 'Pending', 'Scanned', 'Authorized'];

/** The part of the platform's own rules that a page can know; the platform decides. */
export function qrOffers(payment: QrTransactionWithEvents) {
  const { status, paidAmount, refundedAmount, settledAmount, operations, paymentAmount } = payment;
  const isBusy = operations.some((each) => each.status === 'Pending');
  const refundable = paidAmount - refundedAmount - (settledAmount ?? 0);
  const isOpen = openStates.includes(status);
  const refund = refundable > 0 && !isOpen && payment.hold === undefined;
  return {
    cancel: {
      allowed: isOpen && !isBusy,
      maxAmount: paymentAmount.amount,
      reason: isBusy ? 'operation_in_progress' : 'already_ended',
    },
    refund: {
      allowed: refund && !isBusy,
      maxAmount: refundable,
      reason: isBusy ? 'operation_in_progress' : refundable > 0 ? 'not_captured' : 'nothing_to_refund',
    },
  };
}

export function QrActions({ payment }: { readonly payment: QrTransactionWithEvents }) {
  const t = useTranslate('payments');
  const client = useQueryClient();
  const mayCancel = useCan('pay.cancel');
  const mayRefund = useCan('pay.refund');
  const mayResolve = useCan('pay.refundbyweb') && payment.hold !== undefined;
  const [open, setOpen] = useState<'cancel' | 'refund' | undefined>(undefined);
  const { transactionId, paymentAmount } = payment;
  const { currency } = paymentAmount;
  const offers = qrOffers(payment);
  if (!mayCancel && !mayRefund && !mayResolve) return null;

  function reread(): void {
    setOpen(undefined);
    forgetLists('["payments"');
    forgetLists('["qr-payments"');
    void client.invalidateQueries({ queryKey: paymentKey(transactionId) });
  }

  function send({ clientOperationId, amount }: AmountChange): Promise<QrOperationAnswer> {
    return api.post<QrOperationAnswer>(`/qrcode-payment/v1/transactions/${transactionId}/${open}`, {
      body: { clientOperationId, ...defined({ amount }) },
      idempotencyKey: clientOperationId,
    });
  }

  function done({ operation }: QrOperationAnswer): void {
    const status = operation?.status ?? 'Succeeded';
    const isBad = status === 'Declined' || status === 'Failed' || status === 'Unanswered';
    notify(t(`actions.ended.${status}`, { reason: '' }), isBad ? 'bad' : 'good');
    reread();
  }

  return (
    <Panel title={t('actions.title')} flush>
      <ul className="sy-actions">
        {mayCancel && (
          <OfferLine
            offer={{ verb: 'QrCancel', icon: 'ban', currency, ...offers.cancel }}
            onOpen={() => setOpen('cancel')}
          />
        )}
        {mayRefund && (
          <OfferLine
            offer={{ verb: 'Refund', icon: 'refund', currency, ...offers.refund }}
            onOpen={() => setOpen('refund')}
          />
        )}
        {mayResolve && <QrResolve payment={payment} onDone={reread} />}
      </ul>
      {open !== undefined && (
        <AmountAction
          isOpen
          onClose={reread}
          verb={open === 'cancel' ? 'QrCancel' : 'Refund'}
          maxAmount={offers[open].maxAmount}
          currency={currency}
          isDangerous
          mayPart={open === 'refund'}
          takesApproval={false}
          takesFinal={false}
          send={send}
          onDone={done}
        />
      )}
    </Panel>
  );
}
