/** A QR payment that is held: what may be decided about it, and the words that a decision needs. */

import { Button, Textarea } from '@mantine/core';
import { defined, type QrResolveRequest, type QrTransactionWithEvents } from '@switchyard/contract';
import { useState } from 'react';
import { faultsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { useTranslate } from '../../locales/index.ts';

type Resolution = QrResolveRequest['resolution'];
type Reason = NonNullable<QrTransactionWithEvents['hold']>['reason'];

const noteMax = 256;
const live = ['Created', 'Pending', 'Scanned', 'Authorized'];

/** The part of the platform's own rules that a page can know; the platform decides. */
const decisions: Readonly<Record<Reason, readonly Resolution[]>> = {
  AmountDiffers: ['Refund', 'Settle'],
  CurrencyDiffers: ['Refund', 'Settle'],
  RefundDeclined: ['Refund', 'Settle'],
  RefundUnanswered: ['Ask', 'Retry', 'Settle'],
};

export function decisionsOf({
  hold,
  status,
}: Pick<QrTransactionWithEvents, 'hold' | 'status'>): readonly Resolution[] {
  if (hold === undefined) return [];
  const isTaken = hold.reason === 'AmountDiffers' && live.includes(status);
  return isTaken ? ['Accept', ...decisions[hold.reason]] : decisions[hold.reason];
}

export function QrResolve({
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
      {decisionsOf(payment).map((each) => (
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
    <ConfirmAction
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
          error={faultsByField(fault)['note']}
          // One line: what is kept has no others.
          onChange={({ currentTarget }) => setNote(currentTarget.value.replace(/[\r\n]+/g, ' '))}
        />
      )}
    </ConfirmAction>
  );
}
