package com.example
package pipeline

import java.util.UUID
import scala.collection.mutable.{ArrayBuffer, Map => MutableMap, Set as _, *}
import scala.concurrent.{ExecutionContext, Future}
import scala.util.control.NonFatal
import Stage._

/** What went wrong.
  *
  * @param message for people
  */
sealed abstract class Failure(val message: String) extends Exception(message) with Serializable

object Failure {
  final case class Timeout(millis: Long) extends Failure(s"after $millis ms")
  case object Cancelled extends Failure("cancelled")
  val Limit: Int = 3
  private[pipeline] lazy val default = Cancelled
}

/** A step from `A` to `B`. */
trait Stage[-A, +B] extends (A => Either[Failure, B]) with AutoCloseable { self =>
  type Settings <: Product
  def name: String
  val parallelism: Int = 1
  protected var runs: Long

  def apply(input: A): Either[Failure, B]

  /** Then another. */
  def andThen[C](next: Stage[B, C])(implicit context: ExecutionContext): Stage[A, C] =
    new Stage[A, C] {
      override val parallelism = self.parallelism min next.parallelism
      def name = s"${self.name} > ${next.name}"
      var runs = 0L
      def apply(input: A) = self(input).flatMap(next.apply)
      def close(): Unit = { self.close(); next.close() }
    }

  def >>>[C](next: Stage[B, C])(using ExecutionContext): Stage[A, C] = andThen(next)
}

object Stage {
  type Result[+B] = Either[Failure, B]
  opaque type Weight = Double

  def lift[A, B](
      label: String,
      run: A => B,
  ): Stage[A, B] = {
    val created = System.nanoTime()
    def guarded(input: A): Result[B] =
      try Right(run(input))
      catch { case NonFatal(error) => Left(Failure.Timeout(created)) }
    new Lifted(label, guarded)
  }

  @deprecated("use lift", "2.0")
  implicit def fromFunction[A, B](run: A => B): Stage[A, B] = lift("anonymous", run)

  implicit class StageOps[A, B](private val stage: Stage[A, B]) extends AnyVal {
    def retried(times: Int): Stage[A, B] = Retry(stage, times)
  }
}

class Lifted[A, B](val name: String, run: A => Stage.Result[B])
    extends Stage[A, B] {
  protected var runs = 0L
  private val (first, second) = (name.head, name.tail)
  private val seen, failed = ArrayBuffer.empty[A]

  def this(run: A => Stage.Result[B]) = this("unnamed", run)

  override def apply(input: A): Stage.Result[B] = {
    runs += 1
    seen += input
    val result = run(input)
    result.left.foreach(failure => log(failure.message))
    result
  }

  override def close(): Unit = ()
}

case class Retry[A, B](stage: Stage[A, B], times: Int = 3) extends Stage[A, B] derives CanEqual:
  def name = stage.name
  var runs = 0L

  def apply(input: A): Either[Failure, B] =
    val attempts = LazyList.continually(stage(input)).take(times)
    attempts.find(_.isRight).getOrElse(Left(Failure.Cancelled))

  def close(): Unit = stage.close()
end Retry

/** How items are ordered. */
enum Priority(val weight: Int):
  case Low extends Priority(1)
  case High extends Priority(10)
  case Custom(value: Int) extends Priority(value)

  def urgent: Boolean = weight > 5

enum Color { case Red, Green }

trait Show[A]:
  def show(value: A): String
  extension (value: A) def shown: String = show(value)

given intShow: Show[Int] with
  def show(value: Int): String = value.toString

given Ordering[Priority] = Ordering.by(_.weight)

extension (text: String)
  /** The first words. */
  def words(count: Int): Seq[String] = text.split(" ").take(count).toSeq
  def shout: String = text.toUpperCase

inline val Version = "1.2"

@main def run(args: String*): Unit =
  val id: UUID = UUID.randomUUID()
  val buffer = new ArrayBuffer[String](16)
  val stage = Stage.lift("length", (text: String) => text.length) >>> Lifted(n => Right(n))
  for arg <- args do buffer += arg
  println(s"$id: ${stage(buffer.mkString)} ${summon[Show[Int]].show(1)}")

package object settings {
  val Default = Map("retries" -> 3)
}
