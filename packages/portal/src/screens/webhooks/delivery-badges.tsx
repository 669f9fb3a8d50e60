/** What lists and pages of deliveries have in common. */
import type { WebhookDelivery } from '@switchyard/contract';
import { StateBadge, type Tone } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';

export type Attempt = NonNullable<WebhookDelivery['lastAttempt']>;

export function DeliveryBadge({ status }: Pick<WebhookDelivery, 'status'>) {
  const t = useTranslate('webhooks');
  return <StateBadge state={status}>{t(`deliveryStatuses.${status}`)}</StateBadge>;
}

function toneOf({ status }: Attempt): Tone {
  if (status === undefined) return 'bad';
  return status >= 200 && status < 300 ? 'good' : 'bad';
}

/** `200 · 31 ms`, or why there was no answer. */
export function AttemptText({ attempt }: { readonly attempt: Attempt | undefined }) {
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
