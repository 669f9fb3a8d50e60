/** The decision on a held QR payment, with a note. */

import { Button, Textarea } from '@mantine/core';
import { defined, type QrResolveRequest, type QrTransactionWithEvents } from '@switchyard/contract';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { useTranslate } from '../../locales/index.ts';

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

export function possibleDecisions({
  hold,
  status,
}: Pick<QrTransactionWithEvents, 'hold' | 'status'>): readonly Resolution[] {
  if (hold === undefined) return [];
  const isTaken = hold.reason === 'AmountDiffers' && live.includes(status);
  return isTaken ? ['Accept', ...decisions[hold.reason]] : decisions[hold.reason];
}

export function QrHoldDecision({
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
