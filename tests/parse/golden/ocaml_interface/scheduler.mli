(** Jobs in a queue, and workers that run what is due.

    A queue is a value: adding a job gives another queue. *)

open Base
open Scheduler_types

(** {1 Jobs} *)

(** The name of a job; unique in its queue. *)
type id = private string

(** How a job ended. *)
type outcome =
  | Finished
  | Failed of exn
  | Cancelled of { by : string }

(** A piece of work. *)
type 'a job = {
  name : string;
  priority : int;
  mutable tries : int;
  run : unit -> 'a;
}

type t

(** Raised where a queue has no room. *)
exception Full of string

(** {1 Queues} *)

val default_limit : int

(** An empty queue. *)
val create : ?limit:int -> unit -> t

(** Adds a job behind those of its priority.

    @raise Full where the queue has no room. *)
val add : t -> unit job -> t

val ( <+ ) : t -> unit job -> t

(** Jobs that wait, the next one first. *)
val waiting : t -> id list

(** The time that schedules go by. *)
external monotonic : unit -> int64 = "scheduler_monotonic"

(** {1 Running} *)

(** Runs a job until it succeeds or its tries are spent. *)
val attempt : 'a job -> outcome

val attempt_all : 'a job list -> outcome list
val summary : outcome list -> string
val report : outcome list -> unit

(** {1 Stores} *)

(** Where outcomes are kept. *)
module type STORE = sig
  type key

  (** What is kept of a key. *)
  val find : key -> id option

  val size : int

  module Private : sig
    val clear : unit -> unit
  end
end

(** A store that is lost with the process. *)
module Memory : STORE with type key = string

(** Counts how often a store answers. *)
module Cached (Store : STORE) : sig
  val hits : int ref
  val find : Store.key -> id option
end

(** {1 Workers} *)

class virtual worker : string -> object
  val mutable busy : bool
  method name : string
  method virtual work : t -> outcome list
  method step : t -> outcome list
end

class eager : string -> worker

class type observer = object
  method started : id -> unit
  method ended : id -> outcome -> unit
end

(** Tells an observer of every job from now on. *)
val observe : t -> observer -> t

(** The least and the most that a priority can be. *)
val low : int

val high : int
