/** The input values of a sale; the page address contains the method and the device. */
import { useState } from 'react';
import { useFilters } from '../../filters/use-filters.ts';
import { useFormats } from '../../session/use-session.ts';
import { amountWithOutcome, type SimulatedOutcome, testCards } from './simulated-outcomes.ts';

export const paymentMethods = ['Card', 'Qr', 'Nexo'] as const;
export type PaymentMethod = (typeof paymentMethods)[number];

export type SaleInput = ReturnType<typeof useSaleInput>;

const isMethod = (text: string | undefined): text is PaymentMethod =>
  paymentMethods.some((method) => method === text);

export function useSaleInput() {
  const { locale } = useFormats();
  const [{ method, device }, change] = useFilters(['method', 'device']);
  const [currency, setCurrency] = useState('EUR');
  const [text, setText] = useState(locale.startsWith('en') ? '12.50' : '12,50');
  const [amount, setAmount] = useState<number | undefined>(1250);
  const [outcome, setOutcome] = useState<SimulatedOutcome>('');
  const [card, setCard] = useState<string>(testCards[0].number);
  const [isDeferred, setDeferred] = useState(false);
  const [paymentType, setPaymentType] = useState('demopay');
  const sentAmount = amount === undefined ? undefined : amountWithOutcome(amount, outcome);
  return {
    method: isMethod(method) ? method : ('Card' as const),
    setMethod: (next: PaymentMethod) => change({ method: next === 'Card' ? '' : next }),
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
