/** The available actions of a QR payment: cancel, refund, or decide on a held payment. */

import {
  defined,
  type QrOperationAnswer,
  type QrTransactionWithEvents,
} from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { Panel } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { type AmountChange, AmountDialog } from './amount-dialog.tsx';
import { OfferLine } from './card-actions.tsx';
import { QrHoldDecision } from './qr-hold-decision.tsx';

const openStates = ['Created', 'Pending', 'Scanned', 'Authorized'];

/** Mirrors the rules of the platform that a page can check; the platform decides. */
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
      reason: isBusy
        ? 'operation_in_progress'
        : refundable > 0
          ? 'not_captured'
          : 'nothing_to_refund',
    },
  };
}

export function QrActions({ payment }: { readonly payment: QrTransactionWithEvents }) {
  const t = useTranslate('payments');
  const mayCancel = useHasPermission('pay.cancel');
  const mayRefund = useHasPermission('pay.refund');
  const mayResolve = useHasPermission('pay.refundbyweb') && payment.hold !== undefined;
  const [open, setOpen] = useState<'cancel' | 'refund' | undefined>(undefined);
  const { transactionId, paymentAmount } = payment;
  const { currency } = paymentAmount;
  const offers = qrOffers(payment);
  if (!mayCancel && !mayRefund && !mayResolve) return null;

  function reread(): void {
    setOpen(undefined);
    reloadData('payments', 'qr-payments', 'payment');
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
    showToast(t(`actions.ended.${status}`, { reason: '' }), isBad ? 'bad' : 'good');
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
        {mayResolve && <QrHoldDecision payment={payment} onDone={reread} />}
      </ul>
      {open !== undefined && (
        <AmountDialog
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
