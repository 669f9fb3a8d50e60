/** The keys of the terminal: collects the PIN or card number, and decides what the screen shows. */
import { type CardEntry, passesLuhn, type WalletCard } from '@switchyard/contract';
import { useEffect, useState } from 'react';
import type { SimulatedTerminal } from './use-terminal-control.ts';

export const digitKeys = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '0'] as const;
export type TerminalKey = (typeof digitKeys)[number] | 'Clear' | 'Ok' | 'Cancel';

export type TerminalDisplay = {
  readonly state:
    | 'Idle'
    | 'Starting'
    | 'Off'
    | 'Card'
    | 'Number'
    | 'Pin'
    | 'Signature'
    | 'Busy'
    | 'Message'
    | 'Approved'
    | 'Reversed'
    | 'Declined';
  readonly lines: readonly string[];
  /** How a card can be presented now. */
  readonly entries: readonly CardEntry[];
  /** The typed digits of the PIN or the card number. */
  readonly typed: string;
  /** The card number has a wrong check digit. */
  readonly isWrongNumber: boolean;
  /** Absent before the first wrong PIN. */
  readonly pinTriesLeft: number | undefined;
};

const pinTries = 3;
const pinLength = { least: 4, most: 12 };
const cardDigits = { least: 12, most: 19 };

/** What the screen shows where the terminal waits for no input. */
const statesWithoutPrompt: Readonly<Record<string, TerminalDisplay['state']>> = {
  Idle: 'Idle',
  Asking: 'Busy',
  Pin: 'Busy',
  Approved: 'Approved',
  Declined: 'Declined',
  OutOfService: 'Starting',
};

function stateOf({ view }: SimulatedTerminal, isTypingNumber: boolean): TerminalDisplay['state'] {
  const { screen } = view ?? {};
  if (screen === undefined) return view === undefined ? 'Starting' : 'Off';
  const { state, lines, prompt } = screen;
  if (prompt?.type === 'Card' && isTypingNumber) return 'Number';
  if (prompt !== undefined) return prompt.type;
  if (state === 'Approved' && lines.includes('Reversed')) return 'Reversed';
  return statesWithoutPrompt[state] ?? 'Message';
}

export function useTerminalKeys(terminal: SimulatedTerminal) {
  const { act, view } = terminal;
  const [typed, setTyped] = useState('');
  const [typedCard, setTypedCard] = useState<WalletCard | undefined>(undefined);
  const [isWrongNumber, setWrongNumber] = useState(false);
  const prompt = view?.screen?.prompt;
  const triesLeft = prompt?.type === 'Pin' ? prompt.triesLeft : undefined;

  // biome-ignore lint/correctness/useExhaustiveDependencies: each prompt begins without digits
  useEffect(() => {
    setTyped('');
    setTypedCard(undefined);
    setWrongNumber(false);
  }, [prompt?.type, triesLeft]);

  function submit(): void {
    if (typedCard !== undefined) {
      const isRight = typed.length >= cardDigits.least && passesLuhn(typed);
      setWrongNumber(!isRight);
      if (isRight) act({ type: 'Card', name: typedCard.name, entry: 'Keyed', number: typed });
    } else if (typed.length >= pinLength.least) {
      act({ type: 'Pin', digits: typed });
      setTyped('');
    }
  }

  const display: TerminalDisplay = {
    state: stateOf(terminal, typedCard !== undefined),
    lines: view?.screen?.lines ?? [],
    entries: prompt?.type === 'Card' && typedCard === undefined ? prompt.entries : [],
    typed,
    isWrongNumber,
    pinTriesLeft: triesLeft === pinTries ? undefined : triesLeft,
  };
  return {
    display,

    press(key: TerminalKey): void {
      if (key === 'Cancel') act({ type: 'Cancel' });
      else if (key === 'Ok') submit();
      else {
        const most = typedCard === undefined ? pinLength.most : cardDigits.most;
        setTyped(key === 'Clear' ? typed.slice(0, -1) : (typed + key).slice(0, most));
        setWrongNumber(false);
      }
    },

    present(card: WalletCard, entry: CardEntry): void {
      if (entry !== 'Keyed') act({ type: 'Card', name: card.name, entry });
      else {
        // The cardholder can check and change the number before the terminal uses it.
        setTypedCard(card);
        setTyped(card.number);
      }
    },

    sign: () => act({ type: 'Signature' }),
  };
}
