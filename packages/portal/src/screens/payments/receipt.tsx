/** The receipt: the cardholder copy and the merchant copy. */

import { Button, SegmentedControl } from '@mantine/core';
import type { ReceiptCopy } from '@switchyard/contract';
import { useState } from 'react';
import { Icon } from '../../components/icon.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';

type Copy = 'cardholder' | 'merchant';

export function Receipt({ receipt }: { readonly receipt: Readonly<Record<Copy, ReceiptCopy>> }) {
  const t = useTranslate('payments');
  const [copy, setCopy] = useState<Copy>('cardholder');
  return (
    <div className="sy-receipt">
      <div className="sy-receipt-choice">
        <SegmentedControl
          size="xs"
          aria-label={t('receipt.title')}
          value={copy}
          onChange={(value) => setCopy(value as Copy)}
          data={(['cardholder', 'merchant'] as const).map((value) => ({
            value,
            label: t(`receipt.${value}`),
          }))}
        />
        <Button
          variant="subtle"
          size="xs"
          leftSection={<Icon name="receipt" size={15} />}
          onClick={() => print()}
        >
          {t('receipt.print')}
        </Button>
      </div>
      <Paper copy={receipt[copy]} />
    </div>
  );
}

/** Uses the layout and the English terms of a printed receipt. */
function Paper({ copy }: { readonly copy: ReceiptCopy }) {
  const formats = useFormats();
  const lines: [label: string, value: string | undefined][] = [
    ['MID', copy.acquirerMerchantId],
    ['TID', copy.terminalId],
    ['CARD', [copy.scheme, copy.maskedNumber].filter((each) => each !== undefined).join(' ')],
    ['PSN', copy.panSequence],
    ['ENTRY', copy.entryMode],
    ['AID', copy.applicationId],
    ['APP', copy.applicationLabel],
    ['CVM', copy.cardholderVerification],
    ['AUTH', copy.authorizationCode],
    ['RRN', copy.retrievalReferenceNumber],
    ['STAN', copy.systemTraceAuditNumber],
    ['AC', copy.cryptogram],
    ['TVR', copy.terminalVerificationResults],
    ['TSI', copy.transactionStatusInformation],
    ['REASON', copy.responseReason],
  ];
  return (
    <div className="sy-receipt-paper">
      <p className="sy-receipt-name">{copy.merchantName}</p>
      {copy.merchantAddress !== undefined && <p>{copy.merchantAddress}</p>}
      <p>{formats.time(copy.at)}</p>
      <hr />
      <p className="sy-receipt-amount">
        <span>{copy.operation.toUpperCase()}</span>
        <span>{copy.amountText}</span>
      </p>
      <hr />
      <dl>
        {lines
          .filter(([, value]) => value !== undefined && value !== '')
          .map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      <hr />
      <p className="sy-receipt-name">{copy.responseText}</p>
      {copy.acquirerText === undefined ? null : <p>{copy.acquirerText}</p>}
    </div>
  );
}
