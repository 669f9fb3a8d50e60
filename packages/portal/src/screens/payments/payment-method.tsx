/** The payment method on one line: scheme and last digits, or the type of QR payment. */
import type { ReportedPayment } from '@switchyard/contract';
import { Icon } from '../../components/icon.tsx';
import './payments.css';

export function PaymentMethod({
  payment: { kind, scheme, maskedNumber },
}: {
  readonly payment: Pick<ReportedPayment, 'kind' | 'scheme' | 'maskedNumber'>;
}) {
  return (
    <span className="sy-paid-with">
      <Icon name={kind === 'Qr' ? 'qr' : 'payments'} size={15} />
      <span className="sy-cut">
        {scheme ?? kind}
        {maskedNumber !== undefined && (
          <span className="sy-paid-number"> ·· {maskedNumber.slice(-4)}</span>
        )}
      </span>
    </span>
  );
}
