/** A form on its own page, which sends once like `ConfirmDialog`. */
import { useRef } from 'react';
import { type ConfirmDialogProps, ConfirmForm } from './confirm-dialog.tsx';

export type PageFormProps<Result> = Omit<ConfirmDialogProps<Result>, 'isOpen' | 'title' | 'size'>;

export function PageForm<Result>(props: PageFormProps<Result>) {
  const isRunning = useRef(false);
  const leave = () => {
    if (!isRunning.current) props.onClose();
  };
  return <ConfirmForm {...props} close={leave} isRunning={isRunning} />;
}
