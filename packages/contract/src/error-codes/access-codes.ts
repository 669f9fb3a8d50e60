/** Error codes of the first checks: transport, authentication and permissions. */
import { permanentError, reservedPermanentError, temporaryError } from './error-code-facts.ts';

/** Size, media type and headers; checked before the body is read. */
export const transportCodes = {
  request_malformed: permanentError(
    400,
    'The request is not valid HTTP',
    'The request line, a header or the encoding of the address could not be understood.',
  ),
  missing_header: reservedPermanentError(
    400,
    'A required header is missing',
    'The operation needs a header that the request did not carry; the detail names it.',
  ),
  header_invalid: permanentError(
    400,
    'A header has an invalid value',
    'A header of the request has a value outside its format; the detail names the header.',
  ),
  request_timeout: temporaryError(
    408,
    'The request did not arrive in time',
    'The connection stayed open without delivering the whole request within the limit.',
  ),
  payload_too_large: permanentError(
    413,
    'The body is too large',
    'The body is longer than the limit of the operation, 1 MiB where nothing else is documented.',
  ),
  uri_too_long: permanentError(
    414,
    'The address is too long',
    'The address of the request, its query included, is longer than the limit.',
  ),
  unsupported_media_type: permanentError(
    415,
    'The media type is not supported',
    'The operation reads application/json in UTF-8, or the media type that its page names.',
  ),
  headers_too_large: permanentError(
    431,
    'The headers are too large',
    'The headers of the request are together longer than the limit.',
  ),
  route_not_found: permanentError(
    404,
    'No such address',
    'No operation of this platform has this path; compare it with the OpenAPI document.',
  ),
  method_not_allowed: permanentError(
    405,
    'The method is not allowed here',
    'The path exists and knows other methods; the Allow header lists them.',
  ),
  not_acceptable: permanentError(
    406,
    'No acceptable representation',
    'The Accept header admits none of the media types that the operation can answer with.',
  ),
  endpoint_gone: reservedPermanentError(
    410,
    'The address has been withdrawn',
    'The operation existed and was withdrawn after its announced sunset.',
  ),
  version_retired: reservedPermanentError(
    410,
    'The version has been retired',
    'The version in the path is past its announced sunset; use its successor.',
  ),
} as const;

/** Authentication, permission and scope. */
export const accessCodes = {
  token_missing: permanentError(
    401,
    'An access token is needed',
    'Send the header Authorization: Bearer with an access token of your user domain.',
  ),
  token_invalid: permanentError(
    401,
    'The access token is not valid',
    'The token is malformed, not signed by a known realm, revoked, or not meant for this platform.',
  ),
  token_expired: permanentError(
    401,
    'The access token has expired',
    'Obtain a new access token and send the request again with it.',
  ),
  certificate_required: permanentError(
    401,
    'A client certificate is needed',
    'The operation, or the token, is bound to a client certificate that the connection did not show.',
  ),
  certificate_invalid: permanentError(
    401,
    'The client certificate is not accepted',
    'The certificate was not issued by an authority of the platform, belongs to no known device, or is not valid yet.',
  ),
  certificate_expired: permanentError(
    401,
    'The client certificate has expired',
    'Ask for a new certificate for the device and connect with that one.',
  ),
  certificate_revoked: permanentError(
    401,
    'The client certificate was revoked',
    'The certificate was withdrawn before its end; the device needs a new one, with a new key.',
  ),
  permission_denied: permanentError(
    403,
    'The permission is missing',
    'The token is valid and lacks the permission that the operation needs; the detail names it.',
  ),
  entity_out_of_scope: permanentError(
    403,
    'The entity is outside the scope of the token',
    'The request names another merchant, store or device than the one that the token is bound to.',
  ),
  user_deactivated: permanentError(
    403,
    'The user is deactivated',
    'A deactivated user can use no function; an administrator can activate the user again.',
  ),
  merchant_not_active: permanentError(
    403,
    'The merchant is not active',
    'The merchant exists and is disabled in provisioning.',
  ),
  store_not_active: permanentError(
    403,
    'The store is not active',
    'The store exists and is disabled in provisioning.',
  ),
  device_not_active: permanentError(
    403,
    'The device is not active',
    'The device exists and is disabled, or not linked to an enabled store.',
  ),
  device_without_store: permanentError(
    403,
    'The device has no place in a store',
    'Link the physical device to a logical device of a store; until then it acts for no merchant.',
  ),
  device_not_claimed: permanentError(
    403,
    'The terminal is not claimed',
    'Show the certificate of the maker and name the user domain, or enter the claim code that the terminal shows.',
  ),
  certificate_mismatch: permanentError(
    403,
    'The certificate belongs to another device',
    'The serial number that was sent, or the one of the device now, is not that of the certificate.',
  ),
} as const;
