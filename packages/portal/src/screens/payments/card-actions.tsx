/** The available actions of a card payment, and the reasons for unavailable ones. */

import { Button } from '@mantine/core';
import {
  type AllowedOperation,
  defined,
  type OperationAnswer,
  type Permission,
  type TransactionWithEvents,
} from '@switchyard/contract';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { Icon, type IconName } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Loading, Panel } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { useFormats, useSession } from '../../session/use-session.ts';
import { type AmountChange, AmountDialog } from './amount-dialog.tsx';
import { useAllowedOperations } from './payment-queries.ts';

type Action = {
  readonly verb: 'Capture' | 'Refund' | 'Cancel' | 'Reversal' | 'RefundByWeb';
  readonly icon: IconName;
  readonly needs: Permission;
  readonly path: string;
  readonly extra?: Readonly<Record<string, string>>;
  readonly isDangerous: boolean;
  readonly mayPart: boolean;
  readonly takesApproval: boolean;
  readonly takesFinal: boolean;
};

const plain = { isDangerous: true, mayPart: true, takesApproval: true, takesFinal: false } as const;

const actions: readonly Action[] = [
  {
    ...plain,
    verb: 'Capture',
    icon: 'capture',
    needs: 'pay.capture',
    path: 'capture',
    isDangerous: false,
    takesApproval: false,
    takesFinal: true,
  },
  { ...plain, verb: 'Refund', icon: 'refund', needs: 'pay.refund', path: 'refund' },
  {
    ...plain,
    verb: 'Cancel',
    icon: 'ban',
    needs: 'pay.cancel',
    path: 'cancel',
    extra: { cancelReason: 'Functional' },
  },
  {
    ...plain,
    verb: 'Reversal',
    icon: 'close',
    needs: 'pay.cancel',
    path: 'cancel',
    mayPart: false,
    extra: { cancelReason: 'Technical' },
  },
];

/**
 * For users with only the web refund permission: the platform chooses between refund and
 * cancellation.
 */
const byWeb: Action = {
  ...plain,
  verb: 'RefundByWeb',
  icon: 'refund',
  needs: 'pay.refundbyweb',
  path: 'refundbyweb',
  takesApproval: false,
};

type Offer = Action & Pick<AllowedOperation, 'allowed' | 'maxAmount' | 'currency' | 'reason'>;

function useOffers({ transactionId }: TransactionWithEvents) {
  const { permissions } = useSession();
  const { data, error, isLoading, refetch } = useAllowedOperations(transactionId, true);
  const may = (needed: Permission) => permissions.includes(needed);
  const offers: Offer[] = actions
    .filter(({ needs }) => may(needs))
    .flatMap((action) => {
      const allowed = data?.operations.find(({ operation }) => operation === action.verb);
      return allowed === undefined ? [] : [{ ...action, ...allowed }];
    });
  if (data !== undefined && may('pay.refundbyweb') && !may('pay.refund')) {
    const { allowed, maxAmount, currency, reason } = data;
    offers.push({
      ...byWeb,
      allowed,
      maxAmount,
      currency,
      ...defined({ reason }),
    });
  }
  return { offers, error, isLoading, refetch };
}

function tellEnd({ operation }: OperationAnswer, t: Translate): void {
  const status = operation?.status ?? 'Succeeded';
  const reason = operation?.response?.reason ?? '';
  showToast(
    t(`actions.ended.${status}`, { reason }),
    status === 'Declined' || status === 'Failed' ? 'bad' : 'good',
  );
}

export function CardActions({ payment }: { readonly payment: TransactionWithEvents }) {
  const t = useTranslate('payments');
  const [open, setOpen] = useState<Offer | undefined>(undefined);
  const { offers, error, isLoading, refetch } = useOffers(payment);
  const { transactionId } = payment;
  if (isLoading) {
    return (
      <Panel title={t('actions.title')}>
        <Loading lines={2} />
      </Panel>
    );
  }
  if (offers.length === 0 && error === null) return null;

  function send(change: AmountChange): Promise<OperationAnswer> {
    const path = `/payment/v1/transactions/${transactionId}/${open?.path}`;
    return api.post<OperationAnswer>(path, {
      body: { ...change, ...open?.extra },
      idempotencyKey: change.clientOperationId,
    });
  }

  function done(answer: OperationAnswer): void {
    setOpen(undefined);
    tellEnd(answer, t);
    reloadData('payments', 'payment');
  }

  return (
    <Panel title={t('actions.title')} flush>
      {error !== null && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
      <ul className="sy-actions">
        {offers.map((offer) => (
          <OfferLine key={offer.verb} offer={offer} onOpen={() => setOpen(offer)} />
        ))}
      </ul>
      {open !== undefined && (
        <AmountDialog
          {...open}
          isOpen
          onClose={() => {
            setOpen(undefined);
            reloadData('payment');
          }}
          send={send}
          onDone={done}
        />
      )}
    </Panel>
  );
}

export function OfferLine({
  offer: { verb, icon, allowed, maxAmount, currency, reason },
  onOpen,
}: {
  readonly offer: Pick<Offer, 'icon' | 'allowed' | 'maxAmount' | 'currency' | 'reason'> & {
    readonly verb: string;
  };
  readonly onOpen: () => void;
}) {
  const t = useTranslate('payments');
  const formats = useFormats();
  return (
    <li data-allowed={allowed}>
      <Icon name={icon} size={20} />
      <div className="sy-action-text">
        <strong>{t(`actions.${verb}.name`)}</strong>
        <span>
          {allowed
            ? t('actions.upTo', { amount: formats.money(maxAmount, currency) })
            : t(`reasons.${reason ?? 'unknown'}`)}
        </span>
      </div>
      <Button variant={allowed ? 'light' : 'default'} disabled={!allowed} onClick={onOpen}>
        {t(`actions.${verb}.do`)}
      </Button>
    </li>
  );
}
