// Stores device messages while the point of sale is away, with limits per session and in total.

const messagesMax = 32;
const bytesMax = 256 * 1024;
/** The limit for all sessions of the process together. */
const totalMaxBytes = 64 * 1024 * 1024;

export type BufferedMessage = { readonly data: Buffer; readonly isBinary: boolean };
export type ResumeBuffer = {
  /** Returns false if the message exceeds a limit. */
  add(message: BufferedMessage): boolean;
  /** Removes and returns all messages, in the order in which they came. */
  takeAll(): readonly BufferedMessage[];
};

/** The space that is left for all sessions together. */
export type BufferBudget = { freeBytes: number };

export const createBufferBudget = (bytes = totalMaxBytes): BufferBudget => ({ freeBytes: bytes });

/** @example const buffer = createResumeBuffer(createBufferBudget()); */
export function createResumeBuffer(budget: BufferBudget): ResumeBuffer {
  let messages: BufferedMessage[] = [];
  let bytes = 0;
  return {
    add(message) {
      const { length } = message.data;
      if (messages.length >= messagesMax || bytes + length > bytesMax) return false;
      if (length > budget.freeBytes) return false;
      messages.push(message);
      bytes += length;
      budget.freeBytes -= length;
      return true;
    },
    takeAll() {
      const allMessages = messages;
      budget.freeBytes += bytes;
      messages = [];
      bytes = 0;
      return allMessages;
    },
  };
}
