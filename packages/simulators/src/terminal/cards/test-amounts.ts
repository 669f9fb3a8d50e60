// Test amounts that select a behaviour of the terminal, and the faults that can be set.

/**
 * A fault of the next payment.
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
  /** The name of the presented card. */
  readonly card?: string;
  readonly fault?: TerminalFault;
};

/**
 * The last four digits of an amount in minor units, and the behaviour that they select. 9000 to 9099 are test
 * amounts of the acquirer host.
 *
 * @example
 * terminalTestAmounts['8012']?.description; // 'the connection breaks after the approval'
 */
export const terminalTestAmounts: Readonly<Record<string, TestAmount>> = {
  '8001': { description: 'the card is removed too early', card: 'removed' },
  '8002': { description: 'the holder presses Stop', card: 'cancels' },
  '8003': { description: 'no card is presented', card: 'absent' },
  '8004': { description: 'the PIN is wrong, always', card: 'wrong-pin' },
  '8005': { description: 'the PIN is wrong once', card: 'wrong-pin-once' },
  '8006': { description: 'the card cannot be read', card: 'unreadable' },
  '8007': { description: 'the chip declines at once', card: 'declines' },
  '8008': { description: 'the chip declines after the approval', card: 'declines-late' },
  '8009': { description: 'the card is removed after the approval', card: 'removed-late' },
  '8010': {
    description: 'the chip approves offline, and the terminal uploads the sale',
    card: 'offline',
  },
  '8011': {
    description: 'the connection breaks before the terminal sends the payment',
    fault: 'DropBefore',
  },
  '8012': {
    description: 'the connection breaks after the approval',
    fault: 'DropAfter',
  },
  '8013': { description: 'the answer comes late', fault: 'Delay' },
  '8014': { description: 'the answer comes twice', fault: 'Duplicate' },
  '8015': { description: 'the answer is garbage', fault: 'Garbage' },
  '8016': {
    description: 'the terminal restarts after the approval',
    fault: 'Reboot',
  },
  '8017': { description: 'the platform cannot be reached', fault: 'Unreachable' },
};

/** All faults. */
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

/** The behaviour that an amount selects; empty for an ordinary amount. */
export function testAmountOf(amount: number): TestAmount {
  return (
    terminalTestAmounts[String(amount % amountModulus).padStart(4, '0')] ?? { description: '' }
  );
}
