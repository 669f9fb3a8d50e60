// Amounts that ask the terminal for something, and what can be set to go wrong in it.

/**
 * What goes wrong in the next payment.
 *
 * @example
 * terminal.setFault('DropAfter');
 */
export type TerminalFault =
  | 'DropBefore'
  | 'DropAfter'
  | 'Delay'
  | 'Duplicate'
  | 'Garbage'
  | 'Reboot'
  | 'Unreachable';

type TestAmount = {
  readonly description: string;
  /** The name of the card that is shown. */
  readonly card?: string;
  readonly fault?: TerminalFault;
};

/**
 * The last four digits of an amount in minor units, and what they ask for. 9000 to 9099 are for the
 * host of the acquirer.
 *
 * @example
 * terminalTestAmounts['8012']?.description; // 'the connection breaks off after the payment was approved'
 */
export const terminalTestAmounts: Readonly<Record<string, TestAmount>> = {
  '8001': { description: 'the card is taken out too early', card: 'removed' },
  '8002': { description: 'the holder presses Stop', card: 'cancels' },
  '8003': { description: 'nobody shows a card', card: 'absent' },
  '8004': { description: 'the PIN is wrong, always', card: 'wrong-pin' },
  '8005': { description: 'the PIN is wrong once', card: 'wrong-pin-once' },
  '8006': { description: 'the card cannot be read', card: 'unreadable' },
  '8007': { description: 'the chip declines at once', card: 'declines' },
  '8008': { description: 'the chip declines what was approved', card: 'declines-late' },
  '8009': { description: 'the card is taken out when all was approved', card: 'removed-late' },
  '8010': { description: 'the chip approves by itself, and the sale is uploaded', card: 'offline' },
  '8011': {
    description: 'the connection breaks off before anything is asked for',
    fault: 'DropBefore',
  },
  '8012': {
    description: 'the connection breaks off after the payment was approved',
    fault: 'DropAfter',
  },
  '8013': { description: 'the answer comes late', fault: 'Delay' },
  '8014': { description: 'the answer comes twice', fault: 'Duplicate' },
  '8015': { description: 'the answer is garbage', fault: 'Garbage' },
  '8016': {
    description: 'the terminal starts anew once the payment was approved',
    fault: 'Reboot',
  },
  '8017': { description: 'the platform cannot be reached', fault: 'Unreachable' },
};

/** Every fault there is. */
export const terminalFaults = [
  'DropBefore',
  'DropAfter',
  'Delay',
  'Duplicate',
  'Garbage',
  'Reboot',
  'Unreachable',
] as const satisfies readonly TerminalFault[];

const amountModulus = 10_000;

/** What an amount asks for; nothing where it is an ordinary one. */
export function testAmountOf(amount: number): TestAmount {
  return (
    terminalTestAmounts[String(amount % amountModulus).padStart(4, '0')] ?? { description: '' }
  );
}
