/** The available actions of a QR payment: cancel, refund, or decide on a held payment. */
import { Button, Textarea } from '@mantine/core';
import {
  defined,
  type QrOperationAnswer,
  type QrResolveRequest,
  type QrTransactionWithEvents,
} from '@switchyard/contract';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { Panel } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { type AmountChange, AmountDialog } from './amount-dialog.tsx';
import { OfferLine } from './card-actions.tsx';

const openStates = ['Created', 'Pending', 'Scanned', 'Authorized'];

/** Mirrors the rules of the platform that a page can check; the platform decides. */
function qrOffers(payment: QrTransactionWithEvents) {
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

type Resolution = QrResolveRequest['resolution'];
type Reason = NonNullable<QrTransactionWithEvents['hold']>['reason'];

const noteMax = 256;
const live = ['Created', 'Pending', 'Scanned', 'Authorized'];

/** Mirrors the rules of the platform that a page can check; the platform decides. */
const decisions: Readonly<Record<Reason, readonly Resolution[]>> = {
  AmountDiffers: ['Refund', 'Settle'],
  CurrencyDiffers: ['Refund', 'Settle'],
  RefundDeclined: ['Refund', 'Settle'],
  RefundUnanswered: ['Ask', 'Retry', 'Settle'],
};

function possibleDecisions({
  hold,
  status,
}: Pick<QrTransactionWithEvents, 'hold' | 'status'>): readonly Resolution[] {
  if (hold === undefined) return [];
  const isTaken = hold.reason === 'AmountDiffers' && live.includes(status);
  return isTaken ? ['Accept', ...decisions[hold.reason]] : decisions[hold.reason];
}

function QrHoldDecision({
  payment,
  onDone,
}: {
  readonly payment: QrTransactionWithEvents;
  readonly onDone: () => void;
}) {
  const t = useTranslate('payments');
  const [resolution, setResolution] = useState<Resolution | undefined>(undefined);
  const isRefund = payment.hold?.reason === 'RefundUnanswered';
  return (
    <li data-allowed="true">
      <Icon name="alert" size={20} />
      <div className="sy-action-text">
        <strong>{t('resolve.name')}</strong>
        <span>{t(isRefund ? 'resolve.refundText' : 'resolve.text')}</span>
      </div>
      {possibleDecisions(payment).map((each) => (
        <Button key={each} variant="light" onClick={() => setResolution(each)}>
          {t(`resolve.${each}.do`)}
        </Button>
      ))}
      {resolution !== undefined && (
        <Decision
          payment={payment}
          resolution={resolution}
          onClose={() => setResolution(undefined)}
          onDone={() => {
            setResolution(undefined);
            onDone();
          }}
        />
      )}
    </li>
  );
}

function Decision({
  payment: { transactionId, hold },
  resolution,
  onClose,
  onDone,
}: {
  readonly payment: QrTransactionWithEvents;
  readonly resolution: Resolution;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const t = useTranslate('payments');
  const [note, setNote] = useState('');
  const [fault, setFault] = useState<unknown>(undefined);
  const needsNote = resolution === 'Settle';
  const text = note.trim();
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('resolve.name')}
      confirm={t(`resolve.${resolution}.do`)}
      isDangerous={resolution === 'Refund' || needsNote}
      isDisabled={needsNote && text === ''}
      inlineErrorFields={['note']}
      onFault={setFault}
      onDone={onDone}
      run={() =>
        api.post(`/qrcode-payment/v1/transactions/${transactionId}/resolve`, {
          body: {
            resolution,
            ...defined({ amount: hold?.amount }),
            ...(text === '' ? {} : { note: text }),
          },
        })
      }
    >
      <p className="sy-dialogue-text">{t(`resolve.${resolution}.text`)}</p>
      {resolution !== 'Ask' && (
        <Textarea
          label={t('resolve.note')}
          description={t('resolve.noteHint')}
          required={needsNote}
          maxLength={noteMax}
          autosize
          minRows={2}
          value={note}
          error={errorsByField(fault)['note']}
          // The note has no line breaks.
          onChange={({ currentTarget }) => setNote(currentTarget.value.replace(/[\r\n]+/g, ' '))}
        />
      )}
    </ConfirmDialog>
  );
}
