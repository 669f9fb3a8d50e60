/** Shared badges of deliveries and attempts. */
import type { WebhookDelivery } from '@switchyard/contract';
import { StateBadge, type Tone } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';

export type DeliveryAttempt = NonNullable<WebhookDelivery['lastAttempt']>;

export function DeliveryBadge({ status }: Pick<WebhookDelivery, 'status'>) {
  const t = useTranslate('webhooks');
  return <StateBadge state={status}>{t(`deliveryStatuses.${status}`)}</StateBadge>;
}

function toneOf({ status }: DeliveryAttempt): Tone {
  if (status === undefined) return 'bad';
  return status >= 200 && status < 300 ? 'good' : 'bad';
}

/** `200 · 31 ms`, or the reason for the missing response. */
export function AttemptText({ attempt }: { readonly attempt: DeliveryAttempt | undefined }) {
  const t = useTranslate('webhooks');
  const formats = useFormats();
  if (attempt === undefined) return <span aria-hidden="true">–</span>;
  const { status, fault, ms } = attempt;
  const answer = status === undefined ? t(`faults.${fault ?? 'unreachable'}`) : String(status);
  return (
    <span className="sy-hook-attempt">
      <StateBadge state="" tone={toneOf(attempt)}>
        {answer}
      </StateBadge>
      <span>{t('ms', { ms: formats.number(ms) })}</span>
    </span>
  );
}
