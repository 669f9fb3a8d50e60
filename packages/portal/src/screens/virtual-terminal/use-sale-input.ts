/** What is asked for, field by field; how it is paid and at which device stand in the address. */
import { useState } from 'react';
import { useFilters } from '../../filters/use-filters.ts';
import { useFormats } from '../../session/use-session.ts';
import { amountFor, type Outcome, testCards } from './simulated-outcomes.ts';

export const methods = ['Card', 'Qr', 'Nexo'] as const;
export type Method = (typeof methods)[number];

export type Fields = ReturnType<typeof useOrder>;

const isMethod = (text: string | undefined): text is Method =>
  methods.some((method) => method === text);

export function useOrder() {
  const { locale } = useFormats();
  const [{ method, device }, change] = useFilters(['method', 'device']);
  const [currency, setCurrency] = useState('EUR');
  const [text, setText] = useState(locale.startsWith('en') ? '12.50' : '12,50');
  const [amount, setAmount] = useState<number | undefined>(1250);
  const [outcome, setOutcome] = useState<Outcome>('');
  const [card, setCard] = useState<string>(testCards[0].number);
  const [isDeferred, setDeferred] = useState(false);
  const [paymentType, setPaymentType] = useState('demopay');
  const sentAmount = amount === undefined ? undefined : amountFor(amount, outcome);
  return {
    method: isMethod(method) ? method : ('Card' as const),
    setMethod: (next: Method) => change({ method: next === 'Card' ? '' : next }),
    device,
    setDevice: (next: string) => change({ device: next }),
    currency,
    setCurrency,
    text,
    setText,
    setAmount,
    outcome,
    setOutcome,
    asked: sentAmount,
    card,
    setCard,
    isDeferred,
    setDeferred,
    paymentType,
    setPaymentType,
  };
}
