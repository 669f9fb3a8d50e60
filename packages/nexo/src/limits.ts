/** Limits of what is read, kept and written. */

/**
 * The largest message that is read or written, in bytes of UTF-8; the connector has the same limit.
 *
 * Source: ADR 0049.
 *
 * @example
 * if (Buffer.byteLength(text) > messageBytesMax) socket.close(1009);
 */
export const messageBytesMax = 1_048_576;

/**
 * How deep objects and lists may lie in each other. The deepest message of the table has 13 levels.
 *
 * Source: ADR 0049.
 *
 * @example
 * readMessage('['.repeat(depthMax + 1)); // { kind: 'Unreadable', … }
 */
export const depthMax = 32;

/**
 * How many values one message may hold, members of objects and items of lists together.
 *
 * Source: ADR 0049.
 *
 * @example
 * readMessage(JSON.stringify(Array(valuesMax + 1).fill(0))); // { kind: 'Unreadable', … }
 */
export const valuesMax = 50_000;

/**
 * How many faults a reading names; the rest is not looked for.
 *
 * Source: ADR 0049.
 *
 * @example
 * reading.faults.length <= faultsMax; // true
 */
export const faultsMax = 20;

/**
 * How many members that the table does not know a reading names. More are kept all the same.
 *
 * Source: ADR 0049.
 *
 * @example
 * reading.unknown.length <= unknownMax; // true
 */
export const unknownMax = 100;

/**
 * The digits that an amount may have. Up to fifteen a JSON number and its decimal text are the same
 * value, which is what IEEE 754 promises for a double.
 *
 * Source: IEEE 754-2019, 5.12.2; RFC 8259, section 6.
 *
 * @example
 * toMinorUnits(0.1, 'EUR'); // 10, by its text and never by a product
 */
export const amountDigitsMax = 15;

/**
 * How long a terminal remembers the identification of a service, in milliseconds: 48 hours.
 *
 * Source: public documentation of the Terminal API, "ServiceID: unique per terminal within 48 hours".
 *
 * @example
 * const forget = at + serviceIdRetentionMs;
 */
export const serviceIdRetentionMs = 172_800_000;

/**
 * How many identifications of services a terminal remembers, and of how many of them the answer.
 *
 * Source: ADR 0049.
 *
 * @example
 * poi.memory().services.length <= storedServicesMax; // true
 */
export const storedServicesMax = 20_000;

/**
 * How many answers a terminal keeps to repeat them to a TransactionStatus request.
 *
 * Source: ADR 0049.
 *
 * @example
 * poi.memory().services.filter(({ answer }) => answer).length <= storedAnswersMax; // true
 */
export const storedAnswersMax = 200;
