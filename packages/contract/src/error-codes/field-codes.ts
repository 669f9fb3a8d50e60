/** Error codes of syntax checks and member checks. */
import { permanentError } from './error-code-facts.ts';

/** Syntax and members of the body and the query. */
export const fieldCodes = {
  malformed_json: permanentError(
    400,
    'The body is not strict JSON',
    'The body is not JSON, repeats a member, writes a number as 10.0 or 1e3, or nests too deep.',
  ),
  malformed_csv: permanentError(
    400,
    'The table is not well-formed',
    'The rows are not comma-separated values in UTF-8: a quote is open, or the cells are too few or too many.',
  ),
  field_required: permanentError(
    422,
    'A required member is missing',
    'A member that the operation needs is absent; the pointer names it.',
  ),
  field_unknown: permanentError(
    422,
    'A member is not known',
    'The body holds a member that the operation does not know; nothing is ignored silently.',
  ),
  field_invalid: permanentError(
    422,
    'A member has an invalid value',
    'A member has the wrong type or a value outside its documented range; the pointer names it.',
  ),
  field_read_only: permanentError(
    422,
    'A read-only member was changed',
    'The member is set at creation and cannot be given another value; the pointer names it.',
  ),
  cursor_invalid: permanentError(
    422,
    'The cursor is not valid',
    'Use the nextCursor of the previous page with the same filters, unchanged.',
  ),
  amount_invalid: permanentError(
    422,
    'The amount is not valid',
    'An amount is a positive integer in minor units of its currency, as a JSON integer.',
  ),
  amount_zero: permanentError(
    422,
    'The amount is zero',
    'Zero is accepted for an account verification alone.',
  ),
  amount_too_large: permanentError(
    422,
    'The amount is too large',
    'The largest amount is 999999999999 minor units, twelve digits.',
  ),
  currency_unknown: permanentError(
    422,
    'The currency is not known',
    'The currency is not an active ISO 4217 code in which payments are made.',
  ),
  currency_mismatch: permanentError(
    422,
    'The currency differs from the transaction',
    'Capture, refund and cancel are made in the currency of their transaction.',
  ),
  entity_mismatch: permanentError(
    422,
    'The named entities do not belong together',
    'The store is not one of the merchant, or the device is not one of the store.',
  ),
  client_id_invalid: permanentError(
    422,
    'The client identifier cannot be used',
    'A client identifier has 1 to 64 characters of A-Z a-z 0-9 . _ : - and equals no server identifier.',
  ),
  idempotency_key_mismatch: permanentError(
    422,
    'The idempotency key contradicts the body',
    'The Idempotency-Key header and clientOperationId mean the same and carry different values.',
  ),
  entry_mode_invalid: permanentError(
    422,
    'The entry mode is not valid here',
    'The entry mode is not known, or does not fit the instrument; mail and telephone orders are Keyed.',
  ),
  instrument_invalid: permanentError(
    422,
    'The instrument does not fit',
    'The instrument must hold exactly the card data that the entry mode calls for.',
  ),
  card_number_invalid: permanentError(
    422,
    'The card number is not valid',
    'A card number has 12 to 19 digits of which the last one is the check digit.',
  ),
  card_expired_input: permanentError(
    422,
    'The card has expired',
    'The expiry that was sent lies in the past, so the card was not presented to the acquirer.',
  ),
  card_token_unknown: permanentError(
    422,
    'The card token is not known',
    'No card of this organisation is stored under the token, or its retention has ended.',
  ),
  track_data_invalid: permanentError(
    422,
    'The track data is not valid',
    'The track is not in the format of ISO/IEC 7813, or its card number fails the check digit.',
  ),
  emv_data_invalid: permanentError(
    422,
    'The chip data is not valid',
    'The chip data is not well-formed BER-TLV, or lacks an object that a chip sale needs.',
  ),
  emv_data_mismatch: permanentError(
    422,
    'The chip data contradicts the request',
    'The amount or currency that the chip signed, or its card data, differs from the rest.',
  ),
  encrypted_data_invalid: permanentError(
    422,
    'The encrypted card data cannot be used',
    'The data does not decrypt to its stated content or has a wrong length; the error does not say which.',
  ),
  avs_data_required: permanentError(
    422,
    'The address data is incomplete',
    'Address verification needs zipCode and houseNumber together.',
  ),
  moto_contact_required: permanentError(
    422,
    'A contact is needed for a mail or telephone order',
    'Without address verification the instrument needs an address with e-mail or phone.',
  ),
  pin_data_incomplete: permanentError(
    422,
    'The PIN data is incomplete',
    'The members ksn, pinblock and pinblockFormat come together or not at all.',
  ),
  pin_format_unsupported: permanentError(
    422,
    'The PIN block format is not supported',
    'The format does not fit the key serial number, or is not one of ISO0, ISO1, ISO3 and ISO4.',
  ),
  pin_block_invalid: permanentError(
    422,
    'The PIN block cannot be used',
    'PIN block, key serial number, format and card number do not match; the error does not say which is wrong.',
  ),
  ksn_reused: permanentError(
    422,
    'The key serial number was used before',
    'The counter of a device must increase; encrypt the PIN again for each sale.',
  ),
  step_up_invalid: permanentError(
    422,
    'The sale is no step-up of the one that it names',
    'It names a declined tap of the same device and amount that wanted PIN or chip and has no other step-up.',
  ),
  offline_limit_exceeded: permanentError(
    422,
    'The offline limit is exceeded',
    'The offline sale is above the amount, or the terminal above the count, that the acquirer contract allows offline.',
  ),
  offline_too_old: permanentError(
    422,
    'The offline sale is too old',
    'The offline sale was made longer ago than the acquirer contract allows.',
  ),
  too_late: permanentError(
    422,
    'The request arrived too late',
    'The request came after its own notAfter; nothing was processed.',
  ),
  certificate_request_invalid: permanentError(
    422,
    'The certificate request cannot be used',
    'The PKCS#10 request is damaged, not signed by its own key, or its key is of another kind or size.',
  ),
  approval_code_required: permanentError(
    422,
    'An approval code is needed',
    'The organisation asks for an approval code for refund and cancel.',
  ),
  approval_code_invalid: permanentError(
    422,
    'The approval code is not valid',
    'The approval code is unknown, revoked, expired, or of another place or amount; it is checked whenever it is sent.',
  ),
  claim_code_invalid: permanentError(
    422,
    'The claim code is not accepted',
    'Enter the code that the terminal has shown in the last 15 minutes, or ask the operator of the platform.',
  ),
  approval_code_used: permanentError(
    422,
    'The approval code was used',
    'Another operation has used the one-time approval code, or is using it now; send another code.',
  ),
  approval_code_locked: permanentError(
    422,
    'The approval code is locked',
    'Too many unknown approval codes were sent; wait.',
  ),
} as const;
