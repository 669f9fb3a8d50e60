/**
 * Confirms an action. Its texts are `{action}.title`, `{action}.text`, `{action}.do` and
 * `{action}.done` of the namespace of `t`.
 */
import type { Translate } from '../../locales/index.ts';
import { showToast } from '../toasts/toast-store.ts';
import { ConfirmDialog, type ConfirmDialogProps } from './confirm-dialog.tsx';

export type ActionDialogProps<Result> = Pick<
  ConfirmDialogProps<Result>,
  'isDangerous' | 'run' | 'onFault' | 'onClose'
> & {
  readonly t: Translate;
  readonly action: string;
  /** Values of the texts, such as the name of the object. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** The message after success; undefined for none. */
  readonly doneText?: (result: Result) => string | undefined;
  readonly onDone: (result: Result) => void;
  /** Instead of the text of the namespace. */
  readonly text?: string;
};

export function ActionDialog<Result>(props: ActionDialogProps<Result>) {
  const { t, action, values, isDangerous, run, onFault, onClose, onDone } = props;
  const { doneText = () => t(`${action}.done`, values), text = t(`${action}.text`, values) } =
    props;
  return (
    <ConfirmDialog
      isOpen
      isDangerous={isDangerous}
      onClose={onClose}
      title={t(`${action}.title`, values)}
      confirm={t(`${action}.do`)}
      run={run}
      onFault={onFault}
      onDone={(result) => {
        const message = doneText(result);
        if (message !== undefined) showToast(message);
        onClose();
        onDone(result);
      }}
    >
      <p className="sy-dialogue-text sy-broken">{text}</p>
    </ConfirmDialog>
  );
}
