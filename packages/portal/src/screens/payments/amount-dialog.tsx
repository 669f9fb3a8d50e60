/** The dialog of a capture, a refund or a cancellation, with the amount. */
import { Checkbox, TextInput } from '@mantine/core';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { AmountField } from '../../components/forms/amount-field.tsx';
import { formatAmountInput } from '../../components/forms/amount-text.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';

/** The values to send. */
export type AmountChange = {
  readonly clientOperationId: string;
  readonly amount?: number;
  readonly approvalCode?: string;
  readonly final?: boolean;
};

export type AmountDialogProps<Result> = {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** A key of `actions`: `Capture`, `Refund` … */
  readonly verb: string;
  readonly maxAmount: number;
  readonly currency: string;
  readonly isDangerous: boolean;
  readonly mayPart: boolean;
  readonly takesApproval: boolean;
  readonly takesFinal: boolean;
  readonly send: (change: AmountChange) => Promise<Result>;
  readonly onDone: (result: Result) => void;
};

export function AmountDialog<Result>(props: AmountDialogProps<Result>) {
  // The fields are reset each time the dialog opens.
  return props.isOpen ? <OpenAction {...props} /> : null;
}

function OpenAction<Result>(props: AmountDialogProps<Result>) {
  const { onClose, verb, maxAmount, currency, mayPart, takesApproval, takesFinal } = props;
  const t = useTranslate('payments');
  const formats = useFormats();
  const [text, setText] = useState(() => formatAmountInput(maxAmount, currency, formats.locale));
  const [amount, setAmount] = useState<number | undefined>(maxAmount);
  const [approvalCode, setApprovalCode] = useState('');
  const [isFinal, setFinal] = useState(false);
  const [fault, setFault] = useState<unknown>(undefined);
  const faults = errorsByField(fault);
  const isTooMuch = amount !== undefined && amount > maxAmount;
  const isAll = amount === maxAmount;
  const remaining = formats.money(maxAmount, currency);
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t(`actions.${verb}.title`)}
      confirm={
        amount === undefined
          ? t(`actions.${verb}.do`)
          : t(`actions.${verb}.doAmount`, { amount: formats.money(amount, currency) })
      }
      isDangerous={props.isDangerous}
      isDisabled={amount === undefined || isTooMuch}
      inlineErrorFields={['amount', 'approvalCode']}
      onFault={setFault}
      onDone={props.onDone}
      run={(clientOperationId) =>
        props.send({
          clientOperationId,
          // The full amount is sent too, because the remaining amount may have changed.
          ...(mayPart && amount !== undefined ? { amount } : {}),
          ...(approvalCode === '' ? {} : { approvalCode }),
          ...(takesFinal && isFinal && !isAll ? { final: true } : {}),
        })
      }
    >
      <p className="sy-dialogue-text">{t(`actions.${verb}.text`, { amount: remaining })}</p>
      {mayPart && (
        <AmountField
          label={t('amount')}
          description={t('actions.most', { amount: remaining })}
          text={text}
          currency={currency}
          isFirst
          error={faults['amount'] ?? (isTooMuch && t('actions.tooMuch', { amount: remaining }))}
          onChange={(next, value) => {
            setText(next);
            setAmount(value);
          }}
        />
      )}
      {takesFinal && !isAll && (
        <Checkbox
          label={t('actions.final')}
          checked={isFinal}
          onChange={({ currentTarget }) => setFinal(currentTarget.checked)}
        />
      )}
      {takesApproval && (
        <ApprovalField
          code={approvalCode}
          error={faults['approvalCode']}
          onChange={setApprovalCode}
        />
      )}
    </ConfirmDialog>
  );
}

function ApprovalField({
  code,
  error,
  onChange,
}: {
  readonly code: string;
  readonly error: string | undefined;
  readonly onChange: (code: string) => void;
}) {
  const t = useTranslate('payments');
  return (
    <TextInput
      label={t('actions.approvalCode')}
      description={t('actions.approvalHint')}
      inputMode="numeric"
      autoComplete="off"
      maxLength={8}
      value={code}
      error={error}
      onChange={({ currentTarget }) => onChange(currentTarget.value.trim())}
    />
  );
}
