/** The 27 categories: the sender and body of each, and its dialogue rules. */
import { type StructureName, structures } from './structures.ts';
import { type Category, type ClosedValue, closedSets, type MessageType } from './value-sets.ts';

type Facts = {
  readonly class: ClosedValue<'MessageClass'>;
  /** The side that sends the request or notification. */
  readonly from: 'Sale' | 'POI' | 'Both';
  readonly bodies: Partial<Readonly<Record<MessageType, StructureName>>>;
  /** May be sent while another service of the terminal runs, and is answered at once. */
  readonly besides?: true;
  /** Its answer is repeated by a TransactionStatus request, which is how a lost one is got back. */
  readonly repeated?: true;
  /** May be interrupted by an Abort request. */
  readonly abortable?: true;
  /** Works without a login, where a terminal wants one. */
  readonly withoutLogin?: true;
};

/**
 * The categories of messages: class, direction, bodies, and what the dialogue rules need.
 *
 * - `besides`: sent while a service runs (rule of vendors for Abort and TransactionStatus; Diagnosis is
 *   this project's choice, ADR 0049)
 * - `repeated`: the six bodies that a TransactionStatus response can hold, and a batch, which is this
 *   project's extension (ADR 0053)
 *
 * Source: nexo Sale to POI 3.0, message categories, as `@adyen/api-library` 32.1.0 lists them.
 *
 * @example
 * categories.Payment.bodies.Request; // 'PaymentRequest'
 */
export const categories = {
  Abort: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'AbortRequest' },
    besides: true,
    withoutLogin: true,
  },
  Admin: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'AdminRequest', Response: 'AdminResponse' },
  },
  BalanceInquiry: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'BalanceInquiryRequest', Response: 'BalanceInquiryResponse' },
    abortable: true,
  },
  Batch: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'BatchRequest', Response: 'BatchResponse' },
    repeated: true,
  },
  CardAcquisition: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'CardAcquisitionRequest', Response: 'CardAcquisitionResponse' },
    repeated: true,
    abortable: true,
  },
  CardReaderAPDU: {
    class: 'Device',
    from: 'Both',
    bodies: { Request: 'CardReaderAPDURequest', Response: 'CardReaderAPDUResponse' },
    repeated: true,
  },
  CardReaderInit: {
    class: 'Device',
    from: 'Both',
    bodies: { Request: 'CardReaderInitRequest', Response: 'CardReaderInitResponse' },
    abortable: true,
  },
  CardReaderPowerOff: {
    class: 'Device',
    from: 'Both',
    bodies: { Request: 'CardReaderPowerOffRequest', Response: 'CardReaderPowerOffResponse' },
    abortable: true,
  },
  Diagnosis: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'DiagnosisRequest', Response: 'DiagnosisResponse' },
    besides: true,
    withoutLogin: true,
  },
  Display: {
    class: 'Device',
    from: 'Both',
    bodies: { Request: 'DisplayRequest', Response: 'DisplayResponse' },
    abortable: true,
  },
  EnableService: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'EnableServiceRequest', Response: 'EnableServiceResponse' },
  },
  Event: { class: 'Event', from: 'POI', bodies: { Notification: 'EventNotification' } },
  GetTotals: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'GetTotalsRequest', Response: 'GetTotalsResponse' },
  },
  Input: {
    class: 'Device',
    from: 'Both',
    bodies: { Request: 'InputRequest', Response: 'InputResponse' },
    abortable: true,
  },
  InputUpdate: { class: 'Device', from: 'Both', bodies: { Notification: 'InputUpdate' } },
  Login: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'LoginRequest', Response: 'LoginResponse' },
    withoutLogin: true,
  },
  Logout: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'LogoutRequest', Response: 'LogoutResponse' },
  },
  Loyalty: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'LoyaltyRequest', Response: 'LoyaltyResponse' },
    repeated: true,
    abortable: true,
  },
  PIN: {
    class: 'Device',
    from: 'Both',
    bodies: { Request: 'PINRequest', Response: 'PINResponse' },
  },
  Payment: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'PaymentRequest', Response: 'PaymentResponse' },
    repeated: true,
    abortable: true,
  },
  Print: {
    class: 'Device',
    from: 'Both',
    bodies: { Request: 'PrintRequest', Response: 'PrintResponse' },
    abortable: true,
  },
  Reconciliation: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'ReconciliationRequest', Response: 'ReconciliationResponse' },
  },
  Reversal: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'ReversalRequest', Response: 'ReversalResponse' },
    repeated: true,
  },
  Sound: {
    class: 'Device',
    from: 'Both',
    bodies: { Request: 'SoundRequest', Response: 'SoundResponse' },
  },
  StoredValue: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'StoredValueRequest', Response: 'StoredValueResponse' },
    repeated: true,
    abortable: true,
  },
  TransactionStatus: {
    class: 'Service',
    from: 'Sale',
    bodies: { Request: 'TransactionStatusRequest', Response: 'TransactionStatusResponse' },
    besides: true,
    withoutLogin: true,
  },
  Transmit: {
    class: 'Device',
    from: 'Both',
    bodies: { Request: 'TransmitRequest', Response: 'TransmitResponse' },
  },
} as const satisfies Record<Category, Facts>;

/**
 * The types that a category has.
 *
 * Source: nexo Sale to POI 3.0, as {@link structures} holds it.
 *
 * @example
 * const type: MessageTypeOf<'Event'> = 'Notification';
 */
export type MessageTypeOf<Of extends Category> = keyof (typeof categories)[Of]['bodies'] &
  MessageType;

/**
 * The facts of a category, in one shape for all.
 *
 * Source: nexo Sale to POI 3.0, as {@link structures} holds it.
 *
 * @param category - a category
 * @returns its line of {@link categories}
 * @example
 * factsOf('Abort').besides; // true
 */
export function categoryRules(category: Category): Facts {
  return categories[category];
}

/**
 * Returns whether a text names a category.
 *
 * Source: nexo Sale to POI 3.0, as {@link structures} holds it.
 *
 * @param value - any value
 * @returns true for one of the 27
 * @example
 * isCategory('Payment'); // true
 */
export function isCategory(value: unknown): value is Category {
  return typeof value === 'string' && Object.hasOwn(categories, value);
}

/**
 * The name of the member that carries the body of a message: the name of its structure.
 *
 * Source: nexo Sale to POI 3.0, as {@link structures} holds it.
 *
 * @param category - a category
 * @param type - a type of messages
 * @returns for instance `PaymentRequest`, or undefined where the category has no such message
 * @example
 * bodyNameOf('Event', 'Notification'); // 'EventNotification'
 */
export function bodyNameOf(category: Category, type: MessageType): StructureName | undefined {
  return categoryRules(category).bodies[type];
}

/** Every message there is: category, type and body. */
export const messageKinds: readonly {
  readonly category: Category;
  readonly type: MessageType;
  readonly body: StructureName;
}[] = closedSets.MessageCategory.flatMap((category) =>
  closedSets.MessageType.flatMap((type) => {
    const body = bodyNameOf(category, type);
    return body === undefined || !Object.hasOwn(structures, body) ? [] : [{ category, type, body }];
  }),
);
