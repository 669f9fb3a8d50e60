// Stores device messages while the point of sale is away, with limits per session and in total.

const messagesMax = 32;
const bytesMax = 256 * 1024;
/** The limit for all sessions of the process together. */
const roomBytes = 64 * 1024 * 1024;

export type HeldMessage = { readonly data: Buffer; readonly isBinary: boolean };
export type Held = {
  /** Returns false if the message exceeds a limit. */
  keep(message: HeldMessage): boolean;
  /** Removes and returns all messages, in the order in which they came. */
  take(): readonly HeldMessage[];
};

/** The space that is left for all sessions together. */
export type HeldRoom = { free: number };

export const createHeldRoom = (bytes = roomBytes): HeldRoom => ({ free: bytes });

/** @example const held = createHeld(createHeldRoom()); */
export function createHeld(room: HeldRoom): Held {
  let messages: HeldMessage[] = [];
  let bytes = 0;
  return {
    keep(message) {
      const { length } = message.data;
      if (messages.length >= messagesMax || bytes + length > bytesMax) return false;
      if (length > room.free) return false;
      messages.push(message);
      bytes += length;
      room.free -= length;
      return true;
    },
    take() {
      const taken = messages;
      room.free += bytes;
      messages = [];
      bytes = 0;
      return taken;
    },
  };
}
